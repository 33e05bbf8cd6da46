"""The whole answer to one run: all that reports are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core.diagnostic import Diagnostic
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Value
from certus.core.verdict import Safe, Unsafe, Verdict


@dataclass(frozen=True, slots=True)
class Step:
    """One executed edge of a replayed trace: its index, the call depth, and the variables that it
    changed with their new values."""

    edge: int
    depth: int
    changes: tuple[tuple[Expr, Value], ...]


CONFIRMED: Final = "confirmed"


@dataclass(frozen=True, slots=True)
class Replay:
    """A trace replayed by the interpreter. A long one keeps only its first and last steps: `omitted`
    steps stand between `head` and `tail`.

    `compiled` tells of the compiled program: CONFIRMED, why it could not confirm the trace, or nothing if it
    was not asked."""

    steps: int
    head: tuple[Step, ...]
    omitted: int
    tail: tuple[Step, ...]
    error: str  # the name of the error location reached
    compiled: str = ""


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """A proof checked clause by clause: how many there are, and how many each solver discharged
    (no clause was refuted by any). `runs` random executions did not contradict it."""

    clauses: int
    discharged: Mapping[str, int]
    runs: int


@dataclass(frozen=True, slots=True)
class DerivationCheck:
    """A derivation from Horn clauses, every step of which was evaluated again."""

    steps: int


Check = ProofCheck | Replay | DerivationCheck


@dataclass(frozen=True, slots=True)
class Size:
    """Locations and edges of a program, or relations and clauses of a Horn system."""

    locations: int
    edges: int


@dataclass(frozen=True, slots=True)
class PassSize:
    """What one pass made of the task."""

    name: str
    before: Size
    after: Size


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdict, evidence and how it was checked. `seconds` are wall times by phase; `expected` is what a task
    file says of the property (None: nothing)."""

    subject: Program | HornSystem
    property_name: str
    verdict: Verdict
    engine: str
    check: Check | None = None
    statistics: Statistics = field(default_factory=Statistics)
    diagnostics: tuple[Diagnostic, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    passes: tuple[PassSize, ...] = ()
    expected: bool | None = None

    @property
    def contradicted(self) -> bool:
        """Whether the answer is not the expected one."""
        return self.expected is not None and self.answer == ("VIOLATED" if self.expected else "HOLDS")

    @property
    def answer(self) -> str:
        """HOLDS, VIOLATED or UNKNOWN."""
        if isinstance(self.verdict, Safe):
            return "HOLDS"
        return "VIOLATED" if isinstance(self.verdict, Unsafe) else "UNKNOWN"

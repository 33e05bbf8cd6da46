"""The whole answer to one run: all that reports are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from certus.core.challenge import Challenge, Compilers
from certus.core.diagnostic import Diagnostic
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Value
from certus.core.verdict import Safe, Unsafe, Verdict


class Role(Enum):
    """What a step of a counterexample does for a later one that matters."""

    CLAIM = "claim"  # it is the last step: the claim is violated
    VALUE = "value"  # it gives a variable the value that is read there
    MEMORY = "memory"  # it writes bytes that are read there
    BRANCH = "branch"  # it takes the side of a branch on which that step is
    KEEP = "keep"  # it takes the side of a branch on which what is read there is not overwritten
    CALL = "call"  # it calls the procedure in which that step is
    UNKNOWN = "unknown"  # nobody looked: the run is too long


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a step matters: what it does for the later step number `by`, which is over the edge `at`.
    `variable` is the one read there, if any; the last step is its own `by`."""

    role: Role
    by: int
    at: int
    variable: Expr | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One executed edge of a replayed trace: its number in the run, from 0, the index of the edge, the call
    depth, the variables that it changed with their new values, and why it matters: None if the violation
    does not depend on it."""

    number: int
    edge: int
    depth: int
    changes: tuple[tuple[Expr, Value], ...]
    reason: Reason | None = None


CONFIRMED: Final = "confirmed"


@dataclass(frozen=True, slots=True)
class Replay:
    """A trace replayed by the interpreter: `steps` of them, of which `kept` are told of. The first and the
    last of a long run are, and those that matter; the numbers jump where others are not.

    `matter` is how many steps matter in all, and `initial` the globals whose values at the start do; both
    are None if the run was too long to look at. `compiled` tells of the compiled program: CONFIRMED,
    why it could not confirm the trace, or nothing if it was not asked; `compilers` says whose program
    confirmed it."""

    steps: int
    kept: tuple[Step, ...]
    error: str  # the name of the error location reached
    compiled: str = ""
    matter: int | None = None
    initial: tuple[Expr, ...] | None = None
    compilers: Compilers = field(default_factory=Compilers)


class Undecided(Enum):
    """Why a solver neither discharged nor refuted a clause."""

    OUT_OF_TIME = "out-of-time"  # its time was over
    GAVE_UP = "gave-up"  # it answered unknown with time left
    NO_TURN = "no-turn"  # it was never asked: no time was left
    UNSUITED = "unsuited"  # it does not treat such formulas, and is not asked


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """A proof checked clause by clause: at least one solver discharged each clause, and none refuted it.

    `clauses` is how many there are, `discharged` how many of them each solver discharged, and `undecided` why
    it did not discharge the others; solvers that suit no clause are in neither. `by_one` clauses were
    discharged by one solver only. `runs` random executions did not contradict the proof."""

    clauses: int
    discharged: Mapping[str, int]
    runs: int
    undecided: Mapping[str, Mapping[Undecided, int]] = field(default_factory=dict)
    by_one: int = 0


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
    file says of the property (None: nothing), and `specification` the property as property files have it.
    `challenge` tells of native runs that a HOLDS of a C program had to stand up to."""

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
    blocks: Program | None = field(default=None, compare=False)  # the subject in large blocks, if asked for
    specification: str = ""
    challenge: Challenge | None = None
    error_function: str | None = None  # the one whose call is the error, if a property file names it

    @property
    def vacuous(self) -> bool:
        """Whether the property holds because nothing was asked: no check can be reached from `main`."""
        subject = self.subject
        return isinstance(self.verdict, Safe) and isinstance(subject, Program) and not subject.has_checks

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

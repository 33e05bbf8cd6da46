"""Counters and times of one run, filled by whoever does the work."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from certus.core.evidence import Point
from certus.core.terms import Expr


class QueryRecorder(Protocol):
    """Keeps every question asked of a solver."""

    def query(self, formulas: Sequence[Expr], *, purpose: str, solver: str) -> Path:
        """Save the question whether `formulas` are satisfiable together."""
        ...

    def answer(self, path: Path, answer: str, seconds: float) -> None:
        """Note the answer to a question saved before."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """What an engine found out on its way, for people: its kind ("path edges"), where, and what."""

    kind: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Refinement:
    """One round of a search that refines its abstraction, for people: the places that an abstract
    counterexample passes, in order, and the predicates that exclude it, each with its place."""

    path: tuple[str, ...]
    added: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Statistics:
    """`counters` are deterministic (solver calls by purpose, terms, blocks, refinements), `seconds`
    are not. Keys are dotted: `solver.bmc`, `blocks.locations`. `findings` are what an engine has to show
    beside its answer, `refinements` how it came to that, as many rounds as it told of.

    What may be watched meanwhile: `on_progress` gets a line now and then, `queries` each question
    asked of a solver, `on_invariants` formulas that an engine found to hold at points, for others to use."""

    counters: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    refinements: list[Refinement] = field(default_factory=list)
    on_progress: Callable[[str], None] | None = field(default=None, compare=False, repr=False)
    latest: str = field(default="", compare=False, repr=False)  # the last line of progress
    queries: QueryRecorder | None = field(default=None, compare=False, repr=False)
    on_invariants: Callable[[Mapping[Point, Expr]], None] | None = field(
        default=None, compare=False, repr=False
    )

    def count(self, key: str, amount: int = 1) -> None:
        self.counters[key] += amount

    @contextmanager
    def timed(self, key: str) -> Iterator[None]:
        """Add the wall time of the body to `seconds[key]`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[key] = self.seconds.get(key, 0.0) + time.perf_counter() - start

    def progress(self, line: str) -> None:
        """Say what is being done."""
        self.latest = line
        if self.on_progress is not None:
            self.on_progress(line)

    def invariants(self, found: Mapping[Point, Expr]) -> None:
        """Tell of formulas that hold at points, inductive when taken together; others will check them."""
        if self.on_invariants is not None and found:
            self.on_invariants(found)

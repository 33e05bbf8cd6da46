"""The account of one run: the time it may use, and what it has counted, measured and found.

Both are passed as arguments and never global."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from certus.core.errors import BudgetExceeded
from certus.core.evidence import Point
from certus.core.terms import Expr


class Budget:
    """A deadline. Long-running code calls `check()` in its loops."""

    __slots__ = ("_deadline",)

    def __init__(self, seconds: float | None = None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Return the seconds left, never negative; None means no limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def check(self) -> None:
        """Raise `BudgetExceeded` once the deadline has passed."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise BudgetExceeded("time")

    def part(self, share: float, *, at_least: float = 0.0, at_most: float = inf) -> Budget:
        """Return a budget of a share of the remaining time, within `at_least` and `at_most` seconds."""
        left = self.remaining()
        seconds = min(inf if left is None else max(left * share, at_least), at_most)
        return Budget(None if seconds == inf else seconds)

    def without(self, seconds: float) -> Budget:
        """Return a budget that ends `seconds` earlier."""
        left = self.remaining()
        return Budget(None if left is None else max(0.0, left - seconds))


@contextmanager
def until_out_of_time() -> Iterator[None]:
    """Leave the block when a budget in it runs out of time. Other limits are raised."""
    try:
        yield
    except BudgetExceeded as ended:
        if ended.limit != "time":
            raise


class QueryRecorder(Protocol):
    """Saves every query to a solver."""

    def query(self, formulas: Sequence[Expr], *, purpose: str, solver: str) -> Path:
        """Save the query whether `formulas` are satisfiable together, and return its file."""
        ...

    def answer(self, path: Path, answer: str, seconds: float) -> None:
        """Add the answer to a saved query."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """An intermediate result of an engine, for reports: its kind ("path edges"), its place and its text."""

    kind: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Refinement:
    """One round of abstraction refinement, for reports: the places on an abstract counterexample, in order,
    and the predicates that exclude it, each with its place."""

    path: tuple[str, ...]
    added: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Statistics:
    """The statistics of one run. `counters` are deterministic (solver calls by purpose, terms, blocks,
    refinements), `seconds` are not. Keys are dotted: `solver.bmc`, `blocks.locations`. `findings` are
    intermediate results of an engine, `refinements` its rounds of refinement.

    Observers during the run: `on_progress` gets lines of progress, `queries` each solver query,
    `on_invariants` formulas that an engine proved at points, for other engines."""

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
        """Add to a counter."""
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
        """Report what is being done."""
        self.latest = line
        if self.on_progress is not None:
            self.on_progress(line)

    def invariants(self, formulas: Mapping[Point, Expr]) -> None:
        """Publish formulas that hold at points and are inductive together; the receiver checks them."""
        if self.on_invariants is not None and formulas:
            self.on_invariants(formulas)


class _Measured(Protocol):
    @property
    def statistics(self) -> Statistics: ...


S = TypeVar("S", bound=_Measured)
P = ParamSpec("P")
R = TypeVar("R")


def phase(
    key: str, *, without: str | None = None
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Make a method add its wall time to `seconds[key]`, except what is added to `seconds[without]`
    meanwhile."""

    def wrap(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
        def measured(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            seconds = self.statistics.seconds
            before = seconds.get(without, 0.0) if without else 0.0
            try:
                with self.statistics.timed(key):
                    return method(self, *args, **kwargs)
            finally:
                if without:
                    seconds[key] -= seconds.get(without, 0.0) - before

        return measured

    return wrap

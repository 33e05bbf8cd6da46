"""The question (`Task`), the interface that answers it (`Engine`), and passes over it (`Pass`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Point, Proof, Refutation
from certus.core.horn import HornSystem
from certus.core.loops import LoopBound
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.core.verdict import Safe, Unsafe, Verdict


class LateFacts(Mapping[Point, Expr]):
    """Facts that are found when somebody first looks at them: many engines never do."""

    def __init__(self, find: Callable[[], Mapping[Point, Expr]]) -> None:
        self._find = find
        self._found: Mapping[Point, Expr] | None = None

    def _all(self) -> Mapping[Point, Expr]:
        if self._found is None:
            self._found = self._find()
        return self._found

    def __getitem__(self, point: Point) -> Expr:
        return self._all()[point]

    def __iter__(self) -> Iterator[Point]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


@dataclass(frozen=True, slots=True)
class Task:
    """Does `subject` have the property? `facts` are checked invariants an engine may rely on.
    `bounds`, of loops by the names of their heads, are hints: nobody has checked them."""

    subject: Program | HornSystem
    property_name: str = "unreach-call"
    facts: Mapping[Point, Expr] = field(default_factory=dict)
    bounds: Mapping[str, LoopBound] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BackMap:
    """Carries evidence about a transformed task back to the task it was made from."""

    proof: Callable[[Proof], Proof]
    refutation: Callable[[Refutation], Refutation]

    @staticmethod
    def identity() -> BackMap:
        return BackMap(lambda proof: proof, lambda refutation: refutation)

    def after(self, earlier: BackMap) -> BackMap:
        """The back map of the pass `earlier` followed by this one's pass."""
        return BackMap(
            lambda proof: earlier.proof(self.proof(proof)),
            lambda refutation: earlier.refutation(self.refutation(refutation)),
        )

    def verdict(self, verdict: Verdict) -> Verdict:
        if isinstance(verdict, Safe):
            return Safe(self.proof(verdict.proof))
        if isinstance(verdict, Unsafe):
            return Unsafe(self.refutation(verdict.refutation))
        return verdict


class Pass(Protocol):
    """A transformation that keeps the verdict."""

    @property
    def name(self) -> str: ...

    def apply(self, task: Task) -> tuple[Task, BackMap]: ...


class Engine(Protocol):
    """A decision procedure. `options` is a frozen dataclass type, `run` gets an instance of it.
    `inlines`: calls that can be inlined cheaply should be, before it runs."""

    name: str
    summary: str
    options: type[Any]
    inlines: bool

    def unsupported(self, task: Task) -> Diagnostic | None:
        """Why this engine cannot treat the task, if so."""
        ...

    def run(self, task: Task, options: Any, budget: Budget, statistics: Statistics) -> Verdict:
        """Answer the task. May raise `BudgetExceeded`; never answers without evidence."""
        ...

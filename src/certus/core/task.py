"""The question that engines answer (`Task`), and the passes that simplify it (`Pass`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from certus.core.evidence import Point, Proof, Refutation, Safe, Unsafe, Verdict
from certus.core.heap import NumberedObjects
from certus.core.horn import HornSystem
from certus.core.loops import LoopBound
from certus.core.program import Location, Program
from certus.core.terms import Expr


class LateFacts(Mapping[Point, Expr]):
    """Facts that are computed when they are first read: many engines never read them."""

    def __init__(self, compute: Callable[[], Mapping[Point, Expr]]) -> None:
        self._compute = compute
        self._facts: Mapping[Point, Expr] | None = None

    def _all(self) -> Mapping[Point, Expr]:
        if self._facts is None:
            self._facts = self._compute()
        return self._facts

    def __getitem__(self, point: Point) -> Expr:
        return self._all()[point]

    def __iter__(self) -> Iterator[Point]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


@dataclass(frozen=True, slots=True)
class Frames:
    """The call strings of locations and locals that were copied from inlined procedures."""

    locations: Mapping[Location, tuple[int, ...]] = field(default_factory=dict)
    variables: Mapping[Expr, tuple[int, ...]] = field(default_factory=dict)

    def has(self, at: Location, x: Expr) -> bool:
        """Return whether a variable has a value in the original program when control is at a location."""
        calls = self.variables.get(x, ())
        return self.locations.get(at, ())[: len(calls)] == calls


@dataclass(frozen=True, slots=True)
class Task:
    """Does `subject` have the property? `facts` are checked invariants that an engine may rely on.
    `bounds`, of loops by the names of their heads, are hints that have not been checked. `objects` names the
    variables that describe objects on the heap, by region, if memory operations have been replaced; `frames`
    says which variables have values where, if calls have been inlined."""

    subject: Program | HornSystem
    property_name: str = "unreach-call"
    facts: Mapping[Point, Expr] = field(default_factory=dict)
    bounds: Mapping[str, LoopBound] = field(default_factory=dict)
    objects: Mapping[int, NumberedObjects] = field(default_factory=dict)
    frames: Frames = field(default_factory=Frames)


@dataclass(frozen=True, slots=True)
class BackMap:
    """Carries evidence about a transformed task back to the task that the pass got."""

    proof: Callable[[Proof], Proof]
    refutation: Callable[[Refutation], Refutation]

    @staticmethod
    def identity() -> BackMap:
        return BackMap(lambda proof: proof, lambda refutation: refutation)

    def after(self, earlier: BackMap) -> BackMap:
        """Return the back map of the pass `earlier` followed by the pass of this one."""
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

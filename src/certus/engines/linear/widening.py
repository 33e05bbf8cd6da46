"""Widening, for what still diverges (seed 000, "Future Work"): good for proofs only.

At loop heads, and at entries and exits of recursive procedures, after `PATIENCE` disjuncts: all of them are
replaced by one that keeps of their hull the constraints the new disjunct satisfies too, and those of the
*thresholds*, the conditions the program itself compares with, each also off by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from certus.core import build
from certus.core.loops import loop_forest, recursive
from certus.core.program import Call, Location
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder, variables
from certus.engines.linear.edges import Jumped, PathEdge, Store
from certus.engines.linear.transitions import Transitions
from certus.logic.relations import Relation

PATIENCE = 3
THRESHOLDS = 60  # per procedure


@dataclass(slots=True, eq=False)
class Widening:
    """Where to widen, and what was widened to so far."""

    transitions: Transitions
    points: frozenset[Location] = field(init=False)
    hulls: dict[Location, Relation] = field(default_factory=dict)
    _thresholds: dict[str, list[Relation]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.transitions.program
        heads = [at for p in program.procedures.values() for at in loop_forest(p).heads]
        again = [program.procedures[name] for component in recursive(program) for name in component]
        self.points = frozenset([*heads, *(at for p in again for at in (p.entry, p.exit))])

    def applied(self, new: PathEdge, store: Store) -> PathEdge:
        """The path edge itself while there is patience, and the widened one afterwards."""
        if new.vertex not in self.points or len(store.edges) < PATIENCE:
            return new
        before = self.hulls.get(new.vertex)
        if before is None:
            before = store.whole().hull()
        later = before.union(new.relation).hull()
        thresholds = self._of(new.vertex.procedure)
        widened = self.hulls[new.vertex] = before.widened(later, thresholds)
        return PathEdge(new.vertex, widened, Jumped(new))

    def _of(self, name: str) -> list[Relation]:
        found = self._thresholds.get(name)
        if found is None:
            frame = self.transitions.frames[name]
            entry = tuple(build.var(f"entry({x.name})", x.sort) for x in frame.entry)
            atoms = list(dict.fromkeys(self._atoms(name)))[:THRESHOLDS]
            found = [self.transitions.relations.of([atom], entry, frame.state) for atom in atoms]
            found = self._thresholds[name] = [relation for relation in found if relation.exact]
        return found

    def _atoms(self, name: str) -> Iterator[Expr]:
        frame = self.transitions.frames[name]
        state = set(frame.state)
        for edge in frame.procedure.edges:
            if isinstance(edge.op, Call):
                continue
            for path in self.transitions.paths(edge):
                for term in postorder(*path.conditions):
                    if term.kind in (Kind.LE, Kind.LT, Kind.EQ) and state.issuperset(variables(term)):
                        yield from _around(term)


def _around(atom: Expr) -> Iterator[Expr]:
    """Both orders of the two sides, also off by one, for numbers."""
    a, b = (build.to_int(x) if isinstance(x.sort, MachineSort) else x for x in atom.args)
    if a.sort is not INT:
        return
    one = build.integer(1)
    for low, high in ((a, b), (b, a)):
        yield build.le(low, high)
        yield build.le(low, build.add(high, one))
        yield build.lt(low, high)

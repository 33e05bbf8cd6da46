"""Widening, for what still diverges (seed 000, "Future Work"): good for proofs only.

At loop heads, and at entries and exits of recursive procedures, the disjuncts that came by one edge are
replaced by a single one after the first `PATIENCE`; so what comes into a loop and what comes back stay apart.
The new one is made pack by pack (`packs`). It keeps what held of the pack's columns so far, a hull with the
bounds of columns, their sums and differences, as far as that holds of the new disjunct too, and the
*thresholds*: conditions that the program itself compares with, each also off by one, and the ranges known at
the vertex.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from certus.core import build
from certus.core.loops import loop_forest, recursive
from certus.core.program import Call, Edge, Location
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr
from certus.core.walk import postorder, variables
from certus.engines.linear.edges import Jumped, PathEdge, Start, Store
from certus.engines.linear.packs import ATOMS, SIZE, Pack, packs
from certus.engines.linear.transitions import Frame, Transitions
from certus.logic.relations import Relation

PATIENCE = 3
THRESHOLDS = 60  # per pack

_Way = tuple[Location, Edge | None]  # to a vertex, by which edge; None is by closures


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    """A pack at a vertex: its columns, and what may hold of them."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    thresholds: tuple[Relation, ...]

    def of(self, relation: Relation) -> Relation:
        return relation.columns(self.inputs, self.outputs)


@dataclass(slots=True, eq=False)
class Widening:
    """Where to widen, and what was widened to so far. `size`: the most variables of a pack."""

    transitions: Transitions
    size: int = SIZE
    points: frozenset[Location] = field(init=False)
    hulls: dict[_Way, list[Relation]] = field(default_factory=dict)  # one for each pack
    _met: dict[_Way, list[Relation]] = field(default_factory=dict)  # while there is patience
    _packs: dict[Location, tuple[_Packed, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.transitions.program
        heads = [at for p in program.procedures.values() for at in loop_forest(p).heads]
        again = [program.procedures[name] for component in recursive(program) for name in component]
        self.points = frozenset([*heads, *(at for p in again for at in (p.entry, p.exit))])

    def applied(self, new: PathEdge, store: Store) -> PathEdge:
        """The path edge itself while there is patience, and the widened one afterwards."""
        if new.vertex not in self.points:
            return new
        way = (new.vertex, None if isinstance(new.by, Start | Jumped) else new.by.edge)
        met = self._met.setdefault(way, [])
        if len(met) < PATIENCE:
            met.append(new.relation)
            return new
        packed = self._at(new.vertex)
        whole = self.transitions.relations.union(met, store.inputs, store.outputs)
        hulls = self.hulls.get(way) or [pack.of(whole).hull() for pack in packed]
        found = self.transitions.relations.every(store.inputs, store.outputs)
        for number, pack in enumerate(packed):
            later = hulls[number].union(pack.of(new.relation)).hull()
            hulls[number] = hulls[number].widened(later, pack.thresholds)
            wide = hulls[number].spread(pack.inputs, pack.outputs, (store.inputs, store.outputs))
            found = found.meet(wide)
        self.hulls[way] = hulls
        return PathEdge(new.vertex, found, Jumped(new))

    def _at(self, vertex: Location) -> tuple[_Packed, ...]:
        found = self._packs.get(vertex)
        if found is None:
            frame = self.transitions.frames[vertex.procedure]
            atoms = tuple(dict.fromkeys(self._atoms(vertex, frame)))
            made = (self._packed(pack, frame, atoms) for pack in packs(frame, self.transitions, self.size))
            found = self._packs[vertex] = tuple(made)
        return found

    def _packed(self, pack: Pack, frame: Frame, atoms: tuple[Expr, ...]) -> _Packed:
        before = [x for x in pack if x in frame.entry]
        entry = [build.var(f"entry({x.name})", x.sort) for x in before]
        inside = [atom for atom in atoms if set(pack).issuperset(variables(atom))][:THRESHOLDS]
        thresholds = [self.transitions.relations.of([atom], entry, pack) for atom in inside]
        return _Packed(
            tuple(map(frame.entry.index, before)),
            tuple(map(frame.state.index, pack)),
            tuple(relation for relation in thresholds if relation.exact),
        )

    def _atoms(self, vertex: Location, frame: Frame) -> Iterator[Expr]:
        """The thresholds at a vertex."""
        known = self.transitions.facts.get(vertex, build.TRUE)
        yield from (term for term in postorder(known) if term.kind in ATOMS)
        for edge in frame.procedure.edges:
            if isinstance(edge.op, Call):
                continue
            for path in self.transitions.paths(edge):
                for term in postorder(*path.conditions):
                    if term.kind in ATOMS:
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

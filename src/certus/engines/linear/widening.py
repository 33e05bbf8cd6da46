"""Widen path edges where the search diverges (Armando et al. 2004, section 7): sound for proofs only.

At loop heads, and at entries and exits of recursive procedures, the disjuncts that arrive by one edge are
replaced by a single one after the first `PATIENCE`; so the states that enter a loop and those that return to
its head are not merged. The new disjunct is built pack by pack. For the columns of a pack it keeps the
constraints that hold so far (a hull with the bounds of columns, their sums and differences) and hold of the
new disjunct too, and the *thresholds*: the comparisons of the program, each also off by one, and the facts at
the vertex.

*Packs* are small sets of variables that widening relates to each other, since a hull over all columns gets
more expensive with every variable. Variables are put together that a statement, condition or call mentions
together, and then those that change together on some path through a block, in this order, up to `SIZE`
variables. What a statement relates across packs is a pack of its own. Every variable is in some pack; packs
may overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.loops import loop_forest, recursive
from certus.core.program import Call, Edge, Location
from certus.core.terms import INT, Expr, Kind, MachineSort
from certus.core.walk import postorder, variables
from certus.engines.linear.edges import Jumped, PathEdge, Start, Store
from certus.engines.linear.paths import Path
from certus.engines.linear.transitions import Frame, Transitions
from certus.solvers.isl.relations import Relation

PATIENCE = 3
THRESHOLDS = 60  # per pack
SIZE = 5  # variables of a pack, each with its value at the entry and now
ATOMS = (Kind.LE, Kind.LT, Kind.EQ)

Pack = tuple[Expr, ...]
_Way = tuple[Location, Edge | None]  # a vertex, and the edge to it; None for closures


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    """A pack at a vertex: its columns, and their thresholds."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    thresholds: tuple[Relation, ...]

    def of(self, relation: Relation) -> Relation:
        return relation.columns(self.inputs, self.outputs)


@dataclass(slots=True, eq=False)
class Widening:
    """The vertices to widen at (`points`), and the hulls so far. `size`: the maximal number of variables of a
    pack."""

    transitions: Transitions
    size: int = SIZE
    points: frozenset[Location] = field(init=False)
    hulls: dict[_Way, list[Relation]] = field(default_factory=dict)  # one for each pack
    _first: dict[_Way, list[Relation]] = field(default_factory=dict)  # the first `PATIENCE` disjuncts
    _packs: dict[Location, tuple[_Packed, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        program = self.transitions.program
        heads = [at for p in program.procedures.values() for at in loop_forest(p).heads]
        again = [program.procedures[name] for component in recursive(program) for name in component]
        self.points = frozenset([*heads, *(at for p in again for at in (p.entry, p.exit))])

    def applied(self, new: PathEdge, store: Store) -> PathEdge:
        """Return the path edge itself while there are few, the widened one afterwards."""
        if new.vertex not in self.points:
            return new
        way = (new.vertex, None if isinstance(new.by, Start | Jumped) else new.by.edge)
        first = self._first.setdefault(way, [])
        if len(first) < PATIENCE:
            first.append(new.relation)
            return new
        packed = self._at(new.vertex)
        whole = self.transitions.relations.union(first, store.inputs, store.outputs)
        hulls = self.hulls.get(way) or [pack.of(whole).hull() for pack in packed]
        widened = self.transitions.relations.every(store.inputs, store.outputs)
        for number, pack in enumerate(packed):
            later = hulls[number].union(pack.of(new.relation)).hull()
            hulls[number] = hulls[number].widened(later, pack.thresholds)
            wide = hulls[number].spread(pack.inputs, pack.outputs, (store.inputs, store.outputs))
            widened = widened.meet(wide)
        self.hulls[way] = hulls
        return PathEdge(new.vertex, widened, Jumped(new))

    def _at(self, vertex: Location) -> tuple[_Packed, ...]:
        packed = self._packs.get(vertex)
        if packed is None:
            frame = self.transitions.frames[vertex.procedure]
            atoms = tuple(dict.fromkeys(self._atoms(vertex, frame)))
            built = (self._packed(pack, frame, atoms) for pack in packs(frame, self.transitions, self.size))
            packed = self._packs[vertex] = tuple(built)
        return packed

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
        """Yield the thresholds at a vertex."""
        fact = self.transitions.facts.get(vertex, build.TRUE)
        yield from (term for term in postorder(fact) if term.kind in ATOMS)
        for edge in frame.procedure.edges:
            if isinstance(edge.op, Call):
                continue
            for path in self.transitions.pieces(edge):
                for term in postorder(*path.conditions):
                    if term.kind in ATOMS:
                        yield from _around(term)


def _around(atom: Expr) -> Iterator[Expr]:
    """Yield both orders of the two sides of a comparison of numbers, also off by one."""
    a, b = (build.to_int(x) if isinstance(x.sort, MachineSort) else x for x in atom.args)
    if a.sort is not INT:
        return
    one = build.integer(1)
    for low, high in ((a, b), (b, a)):
        yield build.le(low, high)
        yield build.le(low, build.add(high, one))
        yield build.lt(low, high)


# ------------------------------------------------------------------------------------------ packs


def packs(frame: Frame, transitions: Transitions, size: int = SIZE) -> tuple[Pack, ...]:
    """Return the packs of a procedure, in the order of its columns. Expressions may make packs larger."""
    place = {variable: number for number, variable in enumerate(frame.state)}
    pack_of: dict[Expr, dict[Expr, None]] = {variable: {variable: None} for variable in frame.state}
    across: dict[Pack, None] = {}
    expressions = transitions.precision.of(frame.procedure.name)
    size += len(expressions)
    for group in _with_expressions(_groups(frame, transitions), expressions):
        related = [variable for variable in group if variable in place]
        merged = dict.fromkeys(x for variable in related for x in pack_of[variable])
        if len(merged) <= size:
            for variable in merged:
                pack_of[variable] = merged
        elif len(related) <= size:
            across[tuple(sorted(related, key=place.__getitem__))] = None
    result = dict.fromkeys(tuple(sorted(pack, key=place.__getitem__)) for pack in pack_of.values())
    whole = [frozenset(pack) for pack in result]
    result.update((pack, None) for pack in across if not any(other.issuperset(pack) for other in whole))
    return tuple(result)


def _with_expressions(
    groups: Iterable[Sequence[Expr]], expressions: Mapping[Expr, Expr]
) -> Iterator[Sequence[Expr]]:
    """Add to each group the expressions over its variables."""
    used = {column: frozenset(variables(term)) for column, term in expressions.items()}
    for group in groups:
        yield (*group, *(column for column, names in used.items() if names.issubset(group)))


def _groups(frame: Frame, transitions: Transitions) -> Iterator[Sequence[Expr]]:
    """Yield the variables that belong together, the closest ones first."""
    later: list[Sequence[Expr]] = []
    for edge in frame.procedure.edges:
        if isinstance(edge.op, Call):
            yield [*variables(*edge.op.arguments), *edge.op.targets]
            continue
        for path in transitions.pieces(edge):
            yield from _related(path)
            later.append(tuple(path.values))
    yield from later


def _related(path: Path) -> Iterator[Sequence[Expr]]:
    for atom in postorder(*path.conditions):
        if atom.kind in ATOMS:
            yield tuple(variables(atom))
    by_input: dict[Expr, dict[Expr, None]] = {}
    inputs = {symbol for _, symbols in path.inputs for symbol in symbols}
    for target, value in path.values.items():
        used = tuple(variables(value))
        yield (target, *used)
        for symbol in used:
            if symbol in inputs:
                by_input.setdefault(symbol, {})[target] = None
    yield from map(tuple, by_input.values())

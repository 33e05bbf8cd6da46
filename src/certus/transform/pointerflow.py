"""The constraints that a program's operations put on where its pointers point.

All operations are gone through, again and again until nothing more is learnt: which part of a sum is the
address may be known only after other operations have been seen. A part is taken for the address if it is the
only one that can be, or the only one known to point to objects, or, in the end, the one most variables share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd

from certus.core.build import monomial
from certus.core.memory import Partition
from certus.core.program import Alloc, Assign, Assume, Call, Edge, Free, Havoc, Load, Program, Return, Store
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr, Kind
from certus.core.walk import completed, postorder
from certus.logic.addresses import AddressTypes, Mistyped
from certus.transform.pointsto import Node, Places, Spot

_COMPARISONS = (Kind.EQ, Kind.LE, Kind.LT)


class PointerFlow:
    """The places that the variables of a program point to. `bits` is the width of a pointer."""

    def __init__(self, program: Program, bits: int) -> None:
        self.program = program
        self.bits = bits
        self.places = Places()
        self.nodes: dict[Expr, Node] = {}  # by variable
        self._spots: dict[Expr, Spot | None] = {}  # of terms, in this round
        self._open: set[Node] = set()  # the roots of places that pointers with any value point to
        self._guessing = False  # whether doubtful parts of sums are decided
        for variable in _variables(program):
            if self._holds_addresses(variable):
                self.nodes[variable] = Node()
        self._arbitrary = [self.nodes[x] for x in _arbitrary(program) if x in self.nodes]

    def roots(self) -> list[Node]:
        """The roots of all classes, in a fixed order."""
        found: dict[Node, None] = {}
        work = list(self.nodes.values())
        work.reverse()
        while work:
            root, _ = work.pop().root()
            if root not in found:
                found[root] = None
                work.extend(reversed(root.contents.values()))
        return list(found)

    def settle(self) -> None:
        """Go through the operations until nothing changes: first with what is certain."""
        if not self._guessing:
            self._rounds()
            self._guessing = True
        self._rounds()

    def _rounds(self) -> None:
        before = -1
        while self.places.changes != before:
            before = self.places.changes
            self._spots = {}
            self._open = {node.root()[0] for node in self._arbitrary}
            for variable, value in self.program.initial.items():
                self._flow(value, variable)
            for procedure in self.program.procedures.values():
                for edge in procedure.edges:
                    self._op(edge, procedure.results)

    def _holds_addresses(self, term: Expr) -> bool:
        return term.sort is INT or (isinstance(term.sort, MachineSort) and term.sort.width == self.bits)

    # ------------------------------------------------------------------------------- operations

    def _op(self, edge: Edge, results: tuple[Expr, ...]) -> None:
        op = edge.op
        for term in terms_of(op):
            self._compare(term)
        if isinstance(op, Assign):
            self._flows(op.values, op.targets)
        elif isinstance(op, Return):
            self._flows(op.values, results)
        elif isinstance(op, Call):
            callee = self.program.procedures[op.procedure]
            self._flows(op.arguments, callee.parameters)
            self._flows(callee.results[: len(op.targets)], op.targets)
        elif isinstance(op, Alloc):
            self.places.alloc((self.nodes[op.target], 0), edge)
        elif isinstance(op, Load):
            self._access(op.address, op.target, op.target)
        elif isinstance(op, Store):
            self._access(op.address, op.value, None)

    def _flows(self, values: Iterable[Expr], targets: Iterable[Expr]) -> None:
        for value, target in zip(values, targets, strict=True):
            self._flow(value, target)

    def _flow(self, value: Expr, target: Expr) -> None:
        node = self.nodes.get(target)
        spot = self._spot(value) if node is not None else None
        if node is not None and spot is not None:
            self.places.unify((node, 0), spot)

    def _access(self, address: Expr, value: Expr, target: Expr | None) -> None:
        spot = self._spot(address)
        if spot is None:
            return
        assert isinstance(value.sort, MachineSort)
        self.places.access(spot, value.sort.width // 8)
        if value.sort.width != self.bits:
            return
        moved = self._spot(value)
        if moved is not None:
            self.places.unify(moved, (self.places.held(spot), 0))

    def _compare(self, root: Expr) -> None:
        """Places whose addresses are compared belong to one region; where a pointer may have any value the
        comparison can make it point to the very place."""
        for term in postorder(root):
            if term.kind in _COMPARISONS and self._holds_addresses(term.args[0]):
                one, other = (self._spot(a) for a in term.args)
                if one is None or other is None or not (one[0].pointing or other[0].pointing):
                    continue
                roots = [one[0].root()[0], other[0].root()[0]]
                if not self._open.isdisjoint(roots):
                    self.places.unify(one, other)
                elif roots[0] is not roots[1]:
                    self.places.unify((one[0], 0), (other[0], 0))

    # ------------------------------------------------------------------------------------ terms

    def _spot(self, root: Expr) -> Spot | None:
        """The place that a term points to, if it can be an address."""
        return completed(root, self._spots, self._new_spot)

    def _new_spot(self, term: Expr) -> Spot | None:
        kind, args = term.kind, term.args
        if kind is Kind.VAR:
            node = self.nodes.get(term)
            return None if node is None else (node, 0)
        if not self._holds_addresses(term):
            return None
        if kind is Kind.ADD and term.sort is INT:
            return self._sum(term)
        if kind in (Kind.TO_INT, Kind.WRAP) and self._holds_addresses(args[0]):
            signed = isinstance(args[0].sort, MachineSort) and args[0].sort.signed
            return None if kind is Kind.TO_INT and signed else self._spots[args[0]]
        if kind is Kind.ITE:
            found = [spot for spot in (self._spots[a] for a in args[1:]) if spot is not None]
            if len(found) == 2:
                self.places.unify(found[0], found[1])
            return found[0] if found else None
        return None

    def _sum(self, term: Expr) -> Spot | None:
        parts = [monomial(item) for item in term.args if item.kind is not Kind.CONST]
        can = [(base, spot) for f, base in parts if f == 1 and (spot := self._spots.get(base)) is not None]
        if len(can) > 1:
            known = [(base, spot) for base, spot in can if spot[0].pointing]
            if len(known) > 1:
                known = [(base, spot) for base, spot in known if base.kind is not Kind.TO_INT] or known
            can = known if known or not self._guessing else [max(can, key=lambda c: self._shared(c[1]))]
        if len(can) != 1:
            return None
        chosen, (node, offset) = can[0]
        others = [(int(factor), base) for factor, base in parts if base is not chosen]
        if any(factor == -1 and self._measured(base, node) for factor, base in others):
            return None
        self.places.narrow(node, gcd(*(factor for factor, _ in others)))
        return node, offset + sum(int(item.value) for item in term.args if item.kind is Kind.CONST)

    def _shared(self, spot: Spot) -> int:
        """How many variables point where this one does: more for an address that is passed around than for
        a number that only counts."""
        root, _ = spot[0].root()
        return sum(node.root()[0] is root for node in self.nodes.values())

    def _measured(self, base: Expr, node: Node) -> bool:
        """Whether the distance from `base` is asked for, as far as is known."""
        spot = self._spots.get(base)
        if spot is None or not self._guessing:
            return spot is not None
        return spot[0].root()[0] is node.root()[0] and node.pointing


# ------------------------------------------------------------------------------ whole programs


def scan_types(program: Program, partition: Partition) -> AddressTypes:
    """The types of all terms, with what the operations ask of the regions. May raise `Mistyped`."""
    types, carriers = AddressTypes(partition), partition.carriers
    flows = [(value, carriers.get(x)) for x, value in program.initial.items()]
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            op = edge.op
            for term in terms_of(op):
                types.of(term)
            if isinstance(op, Assign | Return):
                targets = op.targets if isinstance(op, Assign) else procedure.results
                flows += ((v, carriers.get(x)) for v, x in zip(op.values, targets, strict=True))
            elif isinstance(op, Call):
                callee = program.procedures[op.procedure]
                flows += ((v, carriers.get(x)) for v, x in zip(op.arguments, callee.parameters, strict=True))
                flows += ((v, carriers.get(x)) for v, x in zip(callee.results, op.targets, strict=False))
            elif isinstance(op, Load | Store):
                _scan_access(op, types)
            elif isinstance(op, Havoc):
                types.anything(op.targets)
    for value, target in flows:
        types.enters(value, target)
    return types


def _scan_access(op: Load | Store, types: AddressTypes) -> None:
    partition = types.partition
    value = op.target if isinstance(op, Load) else op.value
    pointer = types.of(op.address)
    if pointer is None:
        if op.address.kind is not Kind.CONST:
            raise Mistyped("an access through a number that is no address")
        return
    assert isinstance(value.sort, MachineSort)
    field = types.field(pointer, value.sort.width // 8)
    region = partition.regions[pointer.region]
    held = region.holds if field is None else field.holds
    partial = field is None and value.sort.width != partition.bits
    if isinstance(op, Store):
        if partial and held is not None:
            types.intruders[held.region] = None
        types.enters(value, None if partial else held)
        return
    target = partition.carriers.get(value)
    if held != target:
        if held is not None:
            types.leaks[held.region] = None
        if target is not None:
            types.intruders[target.region] = None


def terms_of(op: object) -> Iterator[Expr]:
    """The terms an operation evaluates."""
    if isinstance(op, Assign | Return):
        yield from op.values
    elif isinstance(op, Assume):
        yield op.condition
    elif isinstance(op, Call):
        yield from op.arguments
    elif isinstance(op, Alloc):
        yield op.size
    elif isinstance(op, Load | Free):
        yield op.address
    elif isinstance(op, Store):
        yield from (op.address, op.value)


def written(program: Program) -> frozenset[Expr]:
    """The variables that get values other than by `Alloc` or `Havoc`."""
    found: list[Expr] = []
    for procedure in program.procedures.values():
        found += (*procedure.parameters, *procedure.results)
        for edge in procedure.edges:
            if isinstance(edge.op, Assign | Call):
                found += edge.op.targets
            elif isinstance(edge.op, Load):
                found.append(edge.op.target)
    return frozenset(found)


def _variables(program: Program) -> Iterator[Expr]:
    yield from program.globals
    for procedure in program.procedures.values():
        yield from procedure.variables


def _arbitrary(program: Program) -> Iterator[Expr]:
    """The variables that get any value somewhere."""
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Havoc):
                yield from edge.op.targets

"""Compute where the pointers of a program may point, by unification over its operations.

The operations are processed repeatedly until nothing changes, because other operations may determine which
part of a sum is the address. A part is taken as the address if it is the only candidate, or the only one that
points to objects, or, in the end, the one that most variables share.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from certus.core.build import monomial
from certus.core.effects import copies, terms
from certus.core.memory import Partition
from certus.core.program import (
    Alloc,
    Edge,
    Havoc,
    Inspect,
    InspectBits,
    Load,
    MarkBits,
    Procedure,
    Program,
    Store,
)
from certus.core.terms import INT, Expr, Kind, MachineSort
from certus.core.walk import completed, postorder
from certus.encoding.addresses import AddressTypes, Mistyped
from certus.passes.points_to import Node, Places, Spot

_COMPARISONS = (Kind.EQ, Kind.LE, Kind.LT)


class PointerFlow:
    """The places that the variables of a program point to; `bits` is the width of a pointer."""

    def __init__(self, program: Program, bits: int) -> None:
        self.program = program
        self.bits = bits
        self.places = Places()
        self.nodes: dict[Expr, Node] = {}  # by variable
        self._spots: dict[Expr, Spot | None] = {}  # the place of each term, in this round
        self._open: set[Node] = set()  # the roots of targets of nondeterministic pointers
        self._guessing = False  # whether ambiguous sums are decided
        for variable in _variables(program):
            if self._holds_addresses(variable):
                self.nodes[variable] = Node()
        self._arbitrary = [self.nodes[x] for x in _arbitrary(program) if x in self.nodes]

    def roots(self) -> list[Node]:
        """Return the roots of all classes, in a fixed order."""
        roots: dict[Node, None] = {}
        work = list(self.nodes.values())
        work.reverse()
        while work:
            root, _ = work.pop().root()
            if root not in roots:
                roots[root] = None
                work.extend(reversed(root.contents.values()))
        return list(roots)

    def settle(self) -> None:
        """Process the operations until nothing changes: first without, then with decisions on ambiguous
        sums."""
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
                    self._op(edge, procedure)

    def _holds_addresses(self, term: Expr) -> bool:
        return term.sort is INT or (isinstance(term.sort, MachineSort) and term.sort.width == self.bits)

    # ------------------------------------------------------------------------------- operations

    def _op(self, edge: Edge, procedure: Procedure) -> None:
        op = edge.op
        for term in terms(op):
            self._compare(term)
        for target, value in copies(op, procedure, self.program):
            self._flow(value, target)
        if isinstance(op, Alloc):
            self.places.alloc((self.nodes[op.target], 0), edge)
        elif isinstance(op, Load):
            self._access(op.address, op.target, op.target)
        elif isinstance(op, Store):
            self._access(op.address, op.value, None)
        elif isinstance(op, Inspect):
            self._spot(op.address)  # it has a type, but nothing is accessed
        elif isinstance(op, InspectBits | MarkBits):
            spot, sort = self._spot(op.address), _bits_of(op).sort
            assert isinstance(sort, MachineSort)
            if spot is not None:
                self.places.access(spot, sort.width // 8)

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
        """Put places whose addresses are compared into one region. A nondeterministic pointer may equal the
        other address, so their places are unified exactly."""
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
        """Return the place that a term points to; None if it cannot be an address."""
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
            spots = [spot for spot in (self._spots[a] for a in args[1:]) if spot is not None]
            if len(spots) == 2:
                self.places.unify(spots[0], spots[1])
            return spots[0] if spots else None
        return None

    def _sum(self, term: Expr) -> Spot | None:
        parts = [monomial(item) for item in term.args if item.kind is not Kind.CONST]
        bases = [(base, spot) for f, base in parts if f == 1 and (spot := self._spots.get(base)) is not None]
        if len(bases) > 1:
            pointers = [(base, spot) for base, spot in bases if spot[0].pointing]
            if len(pointers) > 1:
                pointers = [
                    (base, spot) for base, spot in pointers if base.kind is not Kind.TO_INT
                ] or pointers
            undecided = not pointers and self._guessing
            bases = [max(bases, key=lambda c: self._shared(c[1]))] if undecided else pointers
        if len(bases) != 1:
            return None
        chosen, (node, offset) = bases[0]
        others = [(int(factor), base) for factor, base in parts if base is not chosen]
        if any(factor == -1 and self._measured(base, node) for factor, base in others):
            return None
        self.places.narrow(node, gcd(*(factor for factor, _ in others)))
        return node, offset + sum(int(item.value) for item in term.args if item.kind is Kind.CONST)

    def _shared(self, spot: Spot) -> int:
        """Count the variables that point to the same class: an address that is passed around has more than a
        number that only counts."""
        root, _ = spot[0].root()
        return sum(node.root()[0] is root for node in self.nodes.values())

    def _measured(self, base: Expr, node: Node) -> bool:
        """Tell whether a sum subtracts `base` as an address of the same class, which gives a distance."""
        spot = self._spots.get(base)
        if spot is None or not self._guessing:
            return spot is not None
        return spot[0].root()[0] is node.root()[0] and node.pointing


# ------------------------------------------------------------------------------ whole programs


def scan_types(program: Program, partition: Partition) -> AddressTypes:
    """Compute the types of all terms and the demands of operations on regions; may raise `Mistyped`."""
    types, carriers = AddressTypes(partition), partition.carriers
    flows = [(value, carriers.get(x)) for x, value in program.initial.items()]
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            op = edge.op
            for term in terms(op):
                types.of(term)
            flows += ((value, carriers.get(x)) for x, value in copies(op, procedure, program))
            if isinstance(op, Load | Store):
                _scan_access(op, types)
            elif isinstance(op, InspectBits | MarkBits):
                _scan_bits(op, types)
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
            raise Mistyped("an access through a number that is not an address")
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


def _scan_bits(op: InspectBits | MarkBits, types: AddressTypes) -> None:
    pointer, sort = types.of(op.address), _bits_of(op).sort
    assert isinstance(sort, MachineSort)
    if pointer is not None:
        types.field(pointer, sort.width // 8)
    if isinstance(op, MarkBits):
        types.enters(op.bits, None)


def _bits_of(op: InspectBits | MarkBits) -> Expr:
    return op.target if isinstance(op, InspectBits) else op.bits


def _variables(program: Program) -> Iterator[Expr]:
    yield from program.globals
    for procedure in program.procedures.values():
        yield from procedure.variables


def _arbitrary(program: Program) -> Iterator[Expr]:
    """Yield the variables that get a nondeterministic value somewhere."""
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Havoc):
                yield from edge.op.targets

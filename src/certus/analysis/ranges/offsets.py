"""Compute offsets of pointers: where in an object they point, instead of an address.

Objects of a region lie one after another, or anywhere. If no number depends on their addresses, `overlaid`
puts them all at the same address: then an address minus `Partition.base` is an offset for every object, and
pointers into several arrays have offsets like those into one. Equality of pointers into different objects is
arbitrary; their order is not, since C defines none: so offsets are valid for programs that only compare the
order of pointers into one object, and nothing but offsets may be read from the overlaid program.

Offsets are only for `certus ranges`; facts and proofs are about the original program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from certus.core import build
from certus.core.intervals import Interval
from certus.core.memory import Partition, executed_once
from certus.core.program import Alloc, Assign, Assume, Edge, Havoc, Location, Op, Procedure, Program
from certus.core.terms import BOOL, ArraySort, Expr, Kind
from certus.core.walk import rebuild, transform, variables


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of a region: their names in the source, the variables that hold their addresses, and their
    maximal number (None: unbounded)."""

    names: tuple[str, ...]
    bases: tuple[str, ...]
    count: int | None


@dataclass(frozen=True, slots=True)
class Pointing:
    """The targets of a pointer: the objects, the offset (None: any), and whether it may be null."""

    objects: Objects
    offset: Interval | None
    null: bool

    @property
    def choices(self) -> int | None:
        """The number of objects to distinguish, with null; None if it is unbounded."""
        return None if self.objects.count is None else self.objects.count + self.null


def objects(program: Program, partition: Partition) -> dict[int, Objects]:
    """Return the objects of each region of a program with memory operations."""
    once = executed_once(program)
    sites: dict[int, list[Edge]] = {}
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Alloc) and edge.op.target in partition.carriers:
                region = partition.carriers[edge.op.target].region
                sites.setdefault(region, []).append(edge)
    result = {}
    for region, edges in sites.items():
        allocs = [e.op for e in edges if isinstance(e.op, Alloc)]
        names, bases = dict.fromkeys(a.name for a in allocs), dict.fromkeys(a.target.name for a in allocs)
        count = len(edges) if all(e.index in once for e in edges) else None
        result[region] = Objects(tuple(names), tuple(bases), count)
    return result


class Offsets:
    """The pointers of a program whose memory operations were removed by `partition`. Numbers depend on the
    addresses of the regions in `leaks`."""

    def __init__(self, original: Program, partition: Partition, leaks: Collection[int]) -> None:
        self.original, self.partition = original, partition
        self.objects = objects(original, partition)
        self.pointers = {x.name: pointer for x, pointer in partition.carriers.items()}
        self._at_base = {
            number
            for number in self.objects
            if (region := partition.regions[number]).stride and not region.wild and number not in leaks
        }
        self._shared = {number for number in self._at_base if self.objects[number].count != 1}
        self._regions = {f"mem${region}": region for region in self.objects}
        self._regions.update((base, region) for region, group in self.objects.items() for base in group.bases)

    @property
    def overlays(self) -> bool:
        """Return whether some region has several objects to put at one address."""
        return bool(self._shared)

    def overlaid(self, lowered: Program) -> Program:
        """Return the program with all objects of a region at one address."""
        procedures = {
            name: replace(p, edges=tuple(self._edges(self.original.procedures[name], p)))
            for name, p in lowered.procedures.items()
        }
        return replace(lowered, procedures=procedures)

    def _edges(self, original: Procedure, lowered: Procedure) -> Iterator[Edge]:
        """Yield the edges with `Partition.base` as the address of each object. Edges of one operation
        are consecutive."""
        placing: dict[Location, Location] = {}  # from a location inside an allocation to its end
        for edge in original.edges:
            if isinstance(edge.op, Alloc) and self._region(edge.op.target) in self._at_base:
                placing[edge.source] = edge.target
        for edge in lowered.edges:
            end = placing.get(edge.source)
            if end is not None and edge.target is not end:
                placing[edge.target] = end
            op = self._op(edge.op) if end is None else self._placed(edge.op)
            yield edge if op is edge.op else replace(edge, op=op)

    def _region(self, x: Expr) -> int | None:
        pointer = self.pointers.get(x.name)
        return None if pointer is None else pointer.region

    def of(self, x: Expr, addresses: Interval | None) -> Pointing | None:
        """Return the targets of a variable with this range when overlaid; None if it is not a pointer."""
        pointer = self.pointers.get(x.name)
        if pointer is None or addresses is None or pointer.region not in self.objects:
            return None
        region = self.partition.regions[pointer.region]
        null = addresses.low is None or addresses.low <= 0
        if not region.stride:
            return Pointing(self.objects[pointer.region], Interval(pointer.phase, pointer.phase), null)
        base, last = self.partition.base, (1 << self.partition.bits) - 1
        if (
            pointer.region not in self._at_base
            or addresses.high is None
            or addresses.high == last
            or addresses.high < base
        ):
            return Pointing(self.objects[pointer.region], None, null)
        low = 0 if null or addresses.low is None else addresses.low - base
        return Pointing(self.objects[pointer.region], Interval(low, addresses.high - base), null)

    def field(self, x: Expr) -> str | None:
        """Name the memory that a variable or array holds: `t[]` for the elements of an array `t`, `t[]+4` for
        the fields at offset 4 of its records."""
        owner, _, place = x.name.rpartition("$")
        place = place.removeprefix("+")  # of a local object
        if x.name in self._regions and isinstance(x.sort, ArraySort):
            owner, place = x.name, "0"
        number = self._regions.get(owner)
        if number is None or not place.isdigit():
            return None
        region = self.partition.regions[number]
        offset = int(place) % region.stride if region.stride else int(place)
        name = "/".join(self.objects[number].names) + ("[]" if region.stride else "")
        alone = region.fields is None or len(region.fields) == 1
        return name if alone and (region.stride or not offset) else f"{name}+{offset}"

    def _op(self, op: Op) -> Op:
        if not isinstance(op, Assume):
            return op
        condition = transform(op.condition, self._atom)
        return op if condition is op.condition else Assume(condition)

    def _placed(self, op: Op) -> Op:
        """Return a part of an allocation with `Partition.base` instead of the next or an arbitrary address.
        The memory of older objects stays as it is, and that of the new one is arbitrary in any case."""
        if isinstance(op, Assume):
            return Assume(build.TRUE)
        if isinstance(op, Havoc) and op.targets[0].name in self.pointers:
            return Assign(op.targets[:1], (build.constant(self.partition.base, op.targets[0].sort),))
        if isinstance(op, Assign) and any(x.name.startswith("mem$brk") for x in op.targets):
            targets = tuple(x for x in op.targets if not x.name.startswith("mem$brk"))
            return (
                Assign(targets, tuple(build.constant(self.partition.base, x.sort) for x in targets))
                if targets
                else Assume(build.TRUE)
            )
        return op

    def _atom(self, term: Expr, args: tuple[Expr, ...]) -> Expr:
        """Make the equality of two pointers arbitrary, unless one is a constant."""
        if term.kind is Kind.EQ and not any(a.kind is Kind.CONST for a in args):
            mentioned = (self.pointers.get(x.name) for x in variables(*args))
            if any(pointer is not None and pointer.region in self._shared for pointer in mentioned):
                return build.var("offsets$equal", BOOL)
        return rebuild(term, args) if term.args else term

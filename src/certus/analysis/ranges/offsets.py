"""Pointers by their offset: where in an object they point, not at which address.

Objects of a region lie one behind the other, or anywhere. As long as no number depends on their addresses,
`overlaid` may put them all at the same place instead: then an address less `BASE` is an offset, whichever the
object, and pointers into several arrays have offsets as those into one. Whether pointers into different
objects are equal is left open; their order is not, since C has none: so offsets hold for programs that
compare the order of pointers into one object only, and nothing but offsets is to be taken from it.

What is said of offsets is for `certus ranges`; facts and proofs speak of the program as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from certus.core import build
from certus.core.memory import Partition, executed_once
from certus.core.program import Alloc, Assign, Assume, Edge, Havoc, Location, Op, Procedure, Program
from certus.core.sorts import BOOL, ArraySort
from certus.core.terms import Expr, Kind
from certus.core.walk import rebuild, transform, variables
from certus.logic.intervals import Interval
from certus.logic.memory import BASE


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of a region by the names that people know, and the variables that get their addresses;
    `count` is how many there are at the most, if there is such a number."""

    names: tuple[str, ...]
    bases: tuple[str, ...]
    count: int | None


@dataclass(frozen=True, slots=True)
class Pointing:
    """Where a pointer points: the objects, the offset (None: anywhere), and whether it may be null."""

    objects: Objects
    offset: Interval | None
    null: bool

    @property
    def choices(self) -> int | None:
        """How many objects there are to tell apart, null among them; None if there is no end to them."""
        return None if self.objects.count is None else self.objects.count + self.null


def objects(program: Program, partition: Partition) -> dict[int, Objects]:
    """The objects of each region of a program with memory operations."""
    once = executed_once(program)
    sites: dict[int, list[Edge]] = {}
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Alloc) and edge.op.target in partition.carriers:
                region = partition.carriers[edge.op.target].region
                sites.setdefault(region, []).append(edge)
    found = {}
    for region, edges in sites.items():
        allocs = [e.op for e in edges if isinstance(e.op, Alloc)]
        names, bases = dict.fromkeys(a.name for a in allocs), dict.fromkeys(a.target.name for a in allocs)
        count = len(edges) if all(e.index in once for e in edges) else None
        found[region] = Objects(tuple(names), tuple(bases), count)
    return found


class Offsets:
    """The pointers of a program from which memory operations have been removed as `partition` says. Numbers
    depend on the addresses of the regions in `leaks`."""

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
        self._regions.update((base, region) for region, found in self.objects.items() for base in found.bases)

    @property
    def overlays(self) -> bool:
        """Whether some region has several objects to be put at one address."""
        return bool(self._shared)

    def overlaid(self, lowered: Program) -> Program:
        """The program with all objects of a region at one address."""
        procedures = {
            name: replace(p, edges=tuple(self._edges(self.original.procedures[name], p)))
            for name, p in lowered.procedures.items()
        }
        return replace(lowered, procedures=procedures)

    def _edges(self, original: Procedure, lowered: Procedure) -> Iterator[Edge]:
        """Where an object gets its address, it is `BASE`. The edges of an operation follow each other."""
        placing: dict[Location, Location] = {}  # from where such an operation has got to, to its end
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

    def of(self, x: Expr, found: Interval | None) -> Pointing | None:
        """A variable of the overlaid program with this range; None if it is no pointer."""
        pointer = self.pointers.get(x.name)
        if pointer is None or found is None or pointer.region not in self.objects:
            return None
        region = self.partition.regions[pointer.region]
        null = found.low is None or found.low <= 0
        if not region.stride:
            return Pointing(self.objects[pointer.region], Interval(pointer.phase, pointer.phase), null)
        last = (1 << self.partition.bits) - 1
        if (
            pointer.region not in self._at_base
            or found.high is None
            or found.high == last
            or found.high < BASE
        ):
            return Pointing(self.objects[pointer.region], None, null)
        low = 0 if null or found.low is None else found.low - BASE
        return Pointing(self.objects[pointer.region], Interval(low, found.high - BASE), null)

    def field(self, x: Expr) -> str | None:
        """What memory a variable or array holds, for people: `t[]` the elements of an array `t`, `t[]+4` the
        fields at 4 of its records."""
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
        """A part of an operation that makes an object: no address is counted on, none is chosen."""
        if isinstance(op, Assume):
            return Assume(build.TRUE)
        if isinstance(op, Havoc) and op.targets[0].name in self.pointers:
            return Assign(op.targets, tuple(build.constant(BASE, x.sort) for x in op.targets))
        if isinstance(op, Assign) and any(x.name.startswith("mem$brk") for x in op.targets):
            made = tuple(x for x in op.targets if not x.name.startswith("mem$brk"))
            return (
                Assign(made, tuple(build.constant(BASE, x.sort) for x in made))
                if made
                else Assume(build.TRUE)
            )
        return op

    def _atom(self, term: Expr, args: tuple[Expr, ...]) -> Expr:
        """Whether two pointers are equal is not known, unless one is null."""
        if term.kind is Kind.EQ and not any(a.kind is Kind.CONST for a in args):
            mentioned = (self.pointers.get(x.name) for x in variables(*args))
            if any(pointer is not None and pointer.region in self._shared for pointer in mentioned):
                return build.var("offsets$equal", BOOL)
        return rebuild(term, args) if term.args else term

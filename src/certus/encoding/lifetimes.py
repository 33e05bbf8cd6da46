"""Answer `Inspect` and `InspectHeap` where memory operations are replaced (`encoding.memory`). Trusted.

Added variables hold what the partition does not say: which objects have ended, their sizes, and how many heap
objects are live. They exist only if the program asks a question that needs them; a program without `Inspect`
and `InspectHeap` is lowered as if this module did not exist.

An address is judged by the object that it was derived from. Three ways to find the start of that object:

- *base*: the address is computed from the variable that holds the address of the region's only object. The
  offset is the rest of the term.
- *number*: in a fixed region of stride 0 the phase is the offset, so the start is the address minus the
  phase. Objects are numbered consecutively from `Partition.base`, so that a start is allocated if it is
  between the base and the next number. Null and other constants that are not addresses stay below the base,
  or far above it, when a phase is subtracted.
- *twin*: otherwise, `encoding.provenance` follows the start.

Sizes and offsets are compared in sorts in which nothing wraps (`encoding.exact_arithmetic`).

Why a proof of the lowered program is a proof of memory safety. Take the first invalid access of an execution.
All accesses before it were valid, so the lowered program has an execution with the same steps up to there
(`encoding.memory`). The `Inspect` before the access answers no there: its answer is yes only if the bytes lie
inside the object that the address was derived from, and that object is live. An address that is derived from
no object (null, a number, an undetermined value) has no start. Only where a value is arbitrary in the lowered
program too can the answer be yes, in some executions; in others it is no. Hence "no `Inspect` answers no" in
the lowered program implies that no access is invalid.

The converse does not hold. The answer may be "no" for a valid access
- through an address that was copied in parts, computed from a number, or moved by more than `MARGIN` bytes
  before its object, or around the address space, and back;
- to a region of stride 0 with a phase of minus the base or less.
A counterexample that relies on it does not replay. For "tracked" see `encoding.tracking`.

An execution has fewer than 2**(bits - 2) live objects in each region of stride 0, and fewer than 2**bits on
the heap: "allocations succeed" is the assumption that is stated for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from certus.core import build
from certus.core.effects import terms
from certus.core.heap import NumberedObjects
from certus.core.memory import Partition, Pointer, executed_once
from certus.core.program import Alloc, Assign, Assume, BasicOp, Free, Havoc, Inspect, InspectHeap, Program
from certus.core.terms import INT, Expr, Kind, MachineSort, Sort, array, machine
from certus.core.walk import variables
from certus.encoding.address_terms import AddressTerms
from certus.encoding.addresses import MARGIN, AddressTypes, Mistyped
from certus.encoding.exact_arithmetic import converted
from certus.encoding.provenance import Provenance

FLAG = machine(8, signed=False)  # the elements of arrays of truth values: 0 and 1
Add = Callable[[Expr, Expr | None], None]  # add a global, with its value at the start


@dataclass(slots=True)
class _Objects:
    """The allocations and the ends of the objects of a region."""

    allocs: list[Alloc] = field(default_factory=list)
    single: bool = False  # whether all addresses in a state are of one object
    scope: str | None = None  # the procedure the only object is local to
    mortal: bool = False  # whether an object of it may end

    @property
    def size(self) -> Expr | None:
        """The size of all objects, if it is the same constant."""
        sizes = {alloc.size for alloc in self.allocs}
        size = next(iter(sizes)) if len(sizes) == 1 else None
        return size if size is not None and size.kind is Kind.CONST and size.value >= 0 else None


@dataclass(frozen=True, slots=True)
class Target:
    """The object that an address was derived from: whether it is live, its start (None: its region has only
    one object), and the offset of the address: an exact one, or an unsigned one that is at most m if and only
    if the exact one is in 0..m, for each m up to the size of an object (`Provenance.offset`)."""

    live: Expr
    start: Expr | None
    offset: Expr


class Lifetimes:
    """The added variables of one program, and the statements that keep them up to date. `anchors` are the
    variables that hold the address of the only object of a fixed region, or an unused value. `add` declares a
    global. An execution uses the objects of a region in `renewed` one at a time."""

    def __init__(
        self,
        program: Program,
        partition: Partition,
        types: AddressTypes,
        address_terms: AddressTerms,
        anchors: frozenset[Expr],
        add: Add,
        renewed: Collection[int] = (),
    ) -> None:
        self.program = program
        self.partition = partition
        self.provenance = Provenance(partition, types, address_terms)
        self._types = types
        self._terms = address_terms
        self._first = partition.base
        self._add = add
        self._ops = [(p.name, e) for p in program.procedures.values() for e in p.edges]
        self._inspections = [e.op for _, e in self._ops if isinstance(e.op, Inspect)]
        heap = [e.op for _, e in self._ops if isinstance(e.op, InspectHeap)]
        self._counts = bool(heap)
        self._tracks = any(op.retained == "tracked" for op in heap)
        self._bases: frozenset[Expr] = frozenset()
        self._objects: dict[int, _Objects] = {}
        self._inspected: frozenset[int] = frozenset()
        self._phases: dict[int, list[int]] = {}  # of all addresses, by region
        if self.active:
            undetermined = {x for _, e in self._ops if isinstance(e.op, Havoc) for x in e.op.targets}
            self._bases = frozenset(x for x in anchors if x not in undetermined)
            self._survey(renewed)

    @property
    def address(self) -> MachineSort:
        return self.partition.address

    @property
    def active(self) -> bool:
        """Return whether the program asks a question about its memory."""
        return bool(self._inspections) or self._counts

    # -------------------------------------------------------------------------------- the regions

    def _survey(self, renewed: Collection[int]) -> None:
        once = executed_once(self.program)
        for name, edge in self._ops:
            if isinstance(edge.op, Alloc):
                pointer = self._types.of(edge.op.target)
                if pointer is None:
                    raise Mistyped(f"the object {edge.op.name} has no region")
                objects = self._objects.setdefault(pointer.region, _Objects())
                local = self.partition.regions[pointer.region].storage == "locals"
                alone = local or edge.index in once or pointer.region in renewed
                objects.single = alone and not objects.allocs
                objects.mortal |= alone and not local and edge.index not in once
                objects.scope = name if local else None
                objects.allocs.append(edge.op)
                if edge.op.target in variables(edge.op.size):
                    raise Mistyped(f"the size of {edge.op.name} depends on its address")
        for _, edge in self._ops:
            for term in terms(edge.op):
                self._types.of(term)
        for pointer in (*self._types.pointers, *self._held()):
            self._phases.setdefault(pointer.region, []).append(pointer.phase)
        asked = [op.address for op in self._inspections]
        self._inspected = frozenset(p.region for a in asked if (p := self._types.of(a)) is not None)
        asks = self._tracks or (self._counts and self.partition.watched)
        heap = [number for number in self._objects if asks and self.on_heap(number)]
        rooted = [
            n for n, each in enumerate(self.partition.regions) if self._tracks and each.storage != "arrays"
        ]
        self._inspected |= frozenset((*heap, *rooted))
        for _, edge in self._ops:
            if isinstance(edge.op, Free):
                pointer = self._types.of(edge.op.address)
                if pointer is not None and pointer.region in self._inspected:
                    asked.append(edge.op.address)
                    if pointer.region in self._objects:
                        self._objects[pointer.region].mortal = True
        followed = [p.region for a in asked if (p := self._types.of(a)) is not None and self._follows(a, p)]
        followed += (number for number in heap if not self._is_number(Pointer(number, 0)))
        self.provenance.regions = frozenset(followed)

    @cached_property
    def watched(self) -> frozenset[int]:
        """The regions with objects on the heap that are watched, not counted (`encoding.watching`)."""
        return frozenset(n for n in self._objects if self.on_heap(n) and self._is_watched(n))

    def _is_watched(self, number: int) -> bool:
        numbered = self._is_number(Pointer(number, 0)) and self._has_small_phases(number)
        return self.partition.watched and self._counts and numbered and not self._objects[number].single

    @property
    def counts(self) -> bool:
        """Return whether some objects on the heap are counted, not watched."""
        return not self.watched or any(n not in self.watched and self.on_heap(n) for n in self._objects)

    def _has_small_phases(self, number: int) -> bool:
        """Return whether null stays below all numbers of objects, or far above, without a phase."""
        phases = self._phases[number]
        return -self._first < min(phases) and max(phases) < 1 << (self.address.width - 1)

    def _held(self) -> Iterator[Pointer]:
        """Yield the types of addresses in memory."""
        for region in self.partition.regions:
            for pointer in (region.holds, *(each.holds for each in region.fields or ())):
                if pointer is not None:
                    yield pointer

    def on_heap(self, number: int) -> bool:
        """Return whether a region has objects on the heap."""
        return number in self._objects and any(map(_on_heap, self._objects[number].allocs))

    def _is_base(self, address: Expr) -> bool:
        return self.provenance.split(address)[0] in self._bases

    def _is_number(self, pointer: Pointer) -> bool:
        region = self.partition.regions[pointer.region]
        return not region.stride and region.layout == "fixed"

    def _follows(self, address: Expr, pointer: Pointer) -> bool:
        """Return whether only a twin tells the object that an address was derived from."""
        return not self._is_base(address) and not self._is_number(pointer)

    # ------------------------------------------------------------------------------ the variables

    def local_variables(self, procedure: str) -> list[Expr]:
        """Return the variables to add to a procedure, without twins."""
        added = []
        for number, objects in self._objects.items():
            if objects.scope == procedure and number in self._inspected:
                added += [self._live(number)] if objects.mortal else []
                added += [self._sizes(number)] if objects.size is None else []
        return added

    def _ghost(self, number: int, name: str, sort: Sort, initial: Expr | None = None) -> Expr:
        """Return a variable about the objects of a region: local to a procedure as its only object is, or
        global."""
        objects = self._objects[number]
        if objects.scope is not None:
            return build.var(f"{objects.allocs[0].target.name}${name}", sort)
        ghost = build.var(f"mem${number}${name}", sort)
        self._add(ghost, initial)
        return ghost

    def _live(self, number: int) -> Expr:
        """Return the variable that says whether the only object of a region is live."""
        return self._ghost(number, "live", build.TRUE.sort, build.FALSE)

    def live(self, number: int) -> Expr:
        """Return whether the only object of a region, which has begun, is live."""
        return self._live(number) if self._objects[number].mortal else build.TRUE

    def _flags(self, number: int, name: str) -> Expr:
        """Return an array that has a truth value for each object of a region."""
        return self._ghost(number, name, array(self.address, FLAG))

    def _sizes(self, number: int) -> Expr:
        """Return the variable or the array that has the sizes of the objects of a region."""
        single = self._objects[number].single
        return self._ghost(number, "size", self.address if single else array(self.address, self.address))

    def _count(self) -> Expr:
        """Return the variable that counts the live objects on the heap."""
        count = build.var("mem$heap", self.address)
        self._add(count, build.constant(0, self.address))
        return count

    def numbered(self, number: int) -> NumberedObjects:
        """Return the objects of a region in which they have consecutive numbers."""
        dead = self._flags(number, "dead") if self._objects[number].mortal else None
        end = build.var(f"mem$brk${number}", self.address)
        return NumberedObjects(build.constant(self._first, self.address), end, dead)

    # ----------------------------------------------------------------------------- the operations

    def size(self, op: Alloc) -> Expr:
        """Return the size of a new object as an unsigned number, after `promise`. An object of negative size
        (an array whose length is negative) has no bytes: the execution goes on, and an access is invalid."""
        size, bounds = self._terms.machine(op.size), self.provenance.arithmetic.bounds(op.size)
        if not self.active or (bounds is not None and bounds[0] >= 0):
            return size
        negative = build.lt(self._terms.plain(op.size), build.integer(0))
        return build.ite(negative, build.constant(0, self.address), size)

    def promise(self, op: Alloc) -> list[BasicOp]:
        """Return the promise that a size leaves `MARGIN` bytes of the address space. An object that does not
        fit does not exist: every proof assumes that allocations succeed, and says so."""
        bounds, most = self.provenance.arithmetic.bounds(op.size), self.address.high - MARGIN
        if not self.active or (bounds is not None and bounds[1] <= most):
            return []
        return [Assume(build.le(self._terms.plain(op.size), build.integer(most)))]

    def begun(self, op: Alloc, number: int) -> list[BasicOp]:
        """Return what follows the allocation of an object in a region."""
        pairs: list[tuple[Expr, Expr]] = []
        start = self._terms.variable(op.target)
        if (twin := self.provenance.twin(op.target)) is not None:
            pairs.append((twin, start))
        if self._counts and op.storage == "heap" and number not in self.watched:
            pairs.append((self._count(), build.add(self._count(), build.constant(1, self.address))))
        if number in self._inspected:
            objects = self._objects[number]
            if objects.mortal and objects.single:
                pairs.append((self._live(number), build.TRUE))
            elif objects.mortal:
                pairs.append(_set(self._flags(number, "dead"), start, holds=False))
            if objects.size is None:
                size, sizes = self.size(op), self._sizes(number)
                pairs.append((sizes, size if objects.single else build.store(sizes, start, size)))
            if self._mixed(number, _on_heap):
                pairs.append(_set(self._flags(number, "freeable"), start, holds=op.storage == "heap"))
            if self._mixed(number, _is_constant):
                pairs.append(_set(self._flags(number, "constant"), start, holds=op.constant))
        return [_assign(pairs)] if pairs else []

    def ended(self, op: Free) -> list[BasicOp]:
        """Return the end of an object. Nothing ends at null, or if the object has not begun or has ended."""
        pairs: list[tuple[Expr, Expr]] = []
        pointer = self._types.of(op.address)
        counted = pointer is not None and pointer.region not in self.watched
        if self._counts and op.storage == "heap" and counted:
            one, count = build.constant(1, self.address), self._count()
            null = build.eq(self.provenance.word(op.address), self.provenance.none)
            pairs.append((count, build.ite(null, count, build.sub(count, one))))
        if pointer is not None and pointer.region in self._inspected and pointer.region in self._objects:
            number, objects = pointer.region, self._objects[pointer.region]
            if objects.single and self._is_base(op.address):
                pairs.append((self._live(number), build.FALSE))
            elif objects.single:
                here = self._is_only(self._start(op.address, pointer), pointer)
                pairs.append((self._live(number), build.and_(self._live(number), build.not_(here))))
            else:
                pairs.append(_set(self._flags(number, "dead"), self._start(op.address, pointer), holds=True))
        return [_assign(pairs)] if pairs else []

    def _start(self, address: Expr, pointer: Pointer) -> Expr:
        """Return the start of the object that an address was derived from."""
        return self._number(address, pointer) if self._is_number(pointer) else self.provenance.start(address)

    def _number(self, address: Expr, pointer: Pointer) -> Expr:
        """Return an address without its phase."""
        if address.sort is INT:
            return self._terms.machine(build.add(address, build.integer(-pointer.phase)))
        phase = build.constant(self.address.wrap(pointer.phase), self.address)
        return build.sub(self.provenance.word(address), phase)

    def _is_only(self, start: Expr, pointer: Pointer) -> Expr:
        """Return whether the start of an object, by number or twin, is that of the only one in its region."""
        if self._is_number(pointer):
            return build.eq(start, build.constant(self._first, self.address))
        return build.ne(start, self.provenance.none)

    def _mixed(self, number: int, kind: Callable[[Alloc], bool]) -> bool:
        """Return whether some objects of a region are of a kind and others are not."""
        return len({kind(alloc) for alloc in self._objects[number].allocs}) == 2

    # ------------------------------------------------------------------------------ the questions

    def inspected(self, op: Inspect) -> Assign:
        """Return the assignment of the answer to a question about an access."""
        pointer = self._types.of(op.address)
        target = None if pointer is None else self._target(op.address, pointer)
        if op.access == "free":
            answer = self._freeable(op.address, pointer, target)
        else:
            answer = self._accessible(op, pointer, target)
        return Assign((op.target,), (answer,))

    def _target(self, address: Expr, pointer: Pointer) -> Target | None:
        """Return the object that an address was derived from; None if there is none."""
        number, objects = pointer.region, self._objects.get(pointer.region)
        if objects is None:
            return None
        base, rest = self.provenance.split(address)
        if base in self._bases:
            here = build.eq(self._terms.machine(base), build.constant(self._first, self.address))
            arithmetic = self.provenance.arithmetic
            offset = arithmetic.value(rest, arithmetic.sort(arithmetic.bounds(rest)))
            return Target(self._live(number) if objects.mortal else here, None, offset)
        if self._is_number(pointer):
            return self._at_number(pointer, self._number(address, pointer))
        return self._found(pointer, self.provenance.start(base), self.provenance.offset(base, rest))

    def located(self, pointer: Pointer, word: Expr, twin: Expr | None) -> Target | None:
        """Return the object that an address in memory or in a variable was derived from, given its machine
        value and its twin; None if nothing is known about it."""
        if not self._is_number(pointer):
            return None if twin is None else self._found(pointer, twin, build.sub(word, twin))
        return self._at_number(pointer, self._number(word, pointer))

    def _at_number(self, pointer: Pointer, number: Expr) -> Target | None:
        """Return the object with a number, for an address with the offset of a pointer."""
        signed = machine(self.address.width, signed=True)
        if not self._has_small_phases(pointer.region):
            return None
        return self._found(pointer, number, build.constant(pointer.phase, signed))

    def _found(self, pointer: Pointer, start: Expr, offset: Expr) -> Target | None:
        number, objects = pointer.region, self._objects.get(pointer.region)
        if objects is None:
            return None
        if objects.single:
            here = self._is_only(start, pointer)
            live = build.and_(here, self._live(number)) if objects.mortal else here
            return Target(live, None, offset)
        if self._is_number(pointer):
            return Target(self.numbered(number).live(start), start, offset)
        ended = [_flag(self._flags(number, "dead"), start)] if objects.mortal else []
        allocated = build.ne(start, self.provenance.none)
        return Target(build.conjunction([allocated, *map(build.not_, ended)]), start, offset)

    def _size_of(self, number: int, target: Target) -> Expr:
        size = self._objects[number].size
        if size is not None:
            return build.wrap(size, self.address)
        sizes = self._sizes(number)
        return sizes if target.start is None else build.select(sizes, target.start)

    def _kind_of(self, number: int, name: str, kind: Callable[[Alloc], bool], target: Target) -> Expr:
        """Return whether an object is of a kind."""
        if self._mixed(number, kind):
            assert target.start is not None, "one object is of one kind"
            return _flag(self._flags(number, name), target.start)
        return build.boolean(kind(self._objects[number].allocs[0]))

    def _accessible(self, op: Inspect, pointer: Pointer | None, target: Target | None) -> Expr:
        """Return whether all bytes are inside one live object, and may be written if they are to be."""
        bounds = self.provenance.arithmetic.bounds(op.size)
        number_of_bytes = self._terms.machine(op.size)
        empty = self._terms.plain(build.eq(op.size, build.integer(0)))
        if target is None or pointer is None:
            return empty
        size = self._size_of(pointer.region, target)
        conditions = [target.live, build.le(number_of_bytes, size)]
        exact = self._terms.plain(op.size)
        if bounds is None or bounds[0] < 0:
            conditions.append(build.le(build.integer(0), exact))
        if bounds is None or bounds[1] > self.address.high:
            conditions.append(build.le(exact, build.integer(self.address.high)))
        conditions.append(self._is_within(target.offset, build.sub(size, number_of_bytes)))
        if op.access == "write":
            conditions.append(build.not_(self._kind_of(pointer.region, "constant", _is_constant, target)))
        return build.or_(empty, build.conjunction(conditions))

    def _freeable(self, address: Expr, pointer: Pointer | None, target: Target | None) -> Expr:
        """Return whether an address is null or the start of a live object on the heap."""
        null = self._terms.plain(build.eq(address, build.integer(0)))
        if pointer is None or target is None:
            return null
        start = build.eq(target.offset, build.constant(0, target.offset.sort))
        heap = self._kind_of(pointer.region, "freeable", _on_heap, target)
        return build.or_(null, build.conjunction([target.live, start, heap]))

    def retained(self, reached: Sequence[Expr]) -> Expr:
        """Return whether as many objects on the heap are live as truth values in `reached` hold."""
        zero, one = self.provenance.none, build.constant(1, self.address)
        number = build.add(zero, *(build.ite(each, one, zero) for each in reached))
        return build.eq(self._count(), number)

    def tracks(self, number: int, target: Target) -> Expr:
        """Return whether a pointer tracks an object on the heap: it points to a byte of it or to its end."""
        inside = self._is_within(target.offset, self._size_of(number, target))
        heap = self._kind_of(number, "freeable", _on_heap, target)
        return build.conjunction([target.live, heap, inside])

    def _is_within(self, offset: Expr, last: Expr) -> Expr:
        """Return whether the offset of a target is in 0..`last`, a machine integer up to a size."""
        sort = offset.sort
        if sort is self.address:
            return build.le(offset, last)
        above = build.le(build.constant(0, sort), offset)
        if sort is machine(self.address.width, signed=True):
            return build.and_(above, build.le(build.wrap(offset, self.address), last))
        return build.and_(above, build.le(offset, converted(last, sort)))


def _on_heap(alloc: Alloc) -> bool:
    return alloc.storage == "heap"


def _is_constant(alloc: Alloc) -> bool:
    return alloc.constant


def _set(flags: Expr, index: Expr, *, holds: bool) -> tuple[Expr, Expr]:
    return flags, build.store(flags, index, build.constant(int(holds), FLAG))


def _flag(flags: Expr, index: Expr) -> Expr:
    return build.ne(build.select(flags, index), build.constant(0, FLAG))


def _assign(pairs: Iterable[tuple[Expr, Expr]]) -> Assign:
    targets, values = zip(*pairs, strict=True)
    return Assign(targets, values)

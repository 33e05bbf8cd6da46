"""Memory operations replaced by assignments, as a partition says (`core.memory`). Trusted.

Addresses become machine integers of the pointers' width, so that what is stored in memory, computed from
indexes and compared is of one kind; sums and products of addresses are computed modulo 2**bits, which is
exact as long as the results are addresses. Comparisons and distances are taken of values that C allows to
compare: addresses into objects, or one behind.

- An *array region* has one array per field, from the address of the element (the phase subtracted) to the
  bits of the field, or one from addresses to bytes. Addresses are never used twice, so a new object has
  arbitrary contents already; if all objects of a region start with zeros, the arrays do.
- A region whose only object is known has one *variable per cell*. An access at an address that is not
  constant is a choice between cells.
- The addresses of a region with fixed layout are counted up from `BASE`, each region for itself; those
  of the others are arbitrary, aligned, and below all objects before or above them (`mem$brk$low`, `mem$brk`).

The result admits every execution of the program whose memory accesses are valid, whose objects end before
the last `MARGIN` bytes of the address space, and none of whose objects with arbitrary addresses lies between
two that were there before. (It admits more where objects that start with zeros share a region with others:
their contents are then arbitrary.) Original locations and edges keep their identity; what is added has
indexes above all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from certus.core import build
from certus.core.memory import Field, Partition, Pointer, Region, executed_once
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    BasicOp,
    Call,
    Edge,
    Free,
    Havoc,
    Load,
    Location,
    Procedure,
    Program,
    Return,
    Store,
)
from certus.core.sorts import ArraySort, MachineSort, array, machine
from certus.core.terms import Expr, Kind
from certus.logic.addresses import MARGIN, AddressTypes, Mistyped
from certus.logic.addressterms import AddressTerms

BASE = 4096  # the first address of a fixed layout
GAP = 16  # between objects of a fixed layout; their alignment cannot be seen
ZEROED = 256  # the largest object, in bytes, that is made zero by single stores


def lower_memory(program: Program, partition: Partition) -> Program:
    """`program` without memory operations; raises `Mistyped` where the partition does not fit it."""
    return MemoryLowering(program, partition).program()


@dataclass(frozen=True, slots=True)
class _Object:
    """The one object of a region that is kept in variables: by offset, each cell and its width."""

    base: Expr  # the variable that the object's address is assigned to
    cells: Mapping[int, Expr]
    scope: str | None  # the procedure the cells are local to


class MemoryLowering:
    """The replacement of one program's memory operations. `objects` are the regions kept in variables,
    `anchors` the variables that hold the address of the one object of a fixed region, or nothing of use.
    `contents` tells, once the program is made, which edges give cells their arbitrary contents: for which
    `Alloc` edge, and the cells by offset."""

    def __init__(self, program: Program, partition: Partition) -> None:
        self.original = program
        self.partition = partition
        self.types = AddressTypes(partition)
        self.terms = AddressTerms(self.types)
        self.address = partition.address
        self._edges = count(1 + max(program.edge, default=-1))
        self._locations = count(1 + max((at.index for at in program.location.values()), default=-1))
        self.initial: dict[Expr, Expr] = {}  # of the globals that are added
        self.globals: dict[Expr, None] = {}  # that are added
        self.contents: dict[int, tuple[int, Mapping[int, Expr]]] = {}
        self._zeroed = self._zeroed_regions()
        self.objects = dict(self._find_objects())
        self.anchors = self._find_anchors()

    # ----------------------------------------------------------------------------- the program

    def program(self) -> Program:
        procedures = {name: self._procedure(p) for name, p in self.original.procedures.items()}
        shared = (*map(self.terms.variable, self.original.globals), *self.globals)
        initial = {
            self.terms.variable(x): self.terms.value(value, x) for x, value in self.original.initial.items()
        }
        names = {self.terms.variable(x): name for x, name in self.original.source_names.items()}
        return replace(
            self.original,
            procedures=procedures,
            globals=shared,
            initial={**initial, **self.initial},
            source_names={**names, **self._cell_names()},
        )

    def _procedure(self, procedure: Procedure) -> Procedure:
        cells = (x for o in self.objects.values() if o.scope == procedure.name for x in o.cells.values())
        edges: list[Edge] = []
        for edge in procedure.edges:
            edges += self._edge(edge, procedure)
        rename = self.terms.variable
        return replace(
            procedure,
            parameters=tuple(map(rename, procedure.parameters)),
            results=tuple(map(rename, procedure.results)),
            variables=(*map(rename, procedure.variables), *cells),
            edges=tuple(edges),
        )

    def _cell_names(self) -> dict[Expr, str]:
        """Objects that are one variable are known by the user's name."""
        found: dict[Expr, str] = {}
        for alloc in self._allocs():
            made = self.objects.get(self._allocated(alloc).region)
            if made is not None and list(made.cells) == [0] and alloc.size.kind is Kind.CONST:
                sort = made.cells[0].sort
                assert isinstance(sort, MachineSort)
                if alloc.size.value == sort.width // 8:
                    found[made.cells[0]] = alloc.name
        return found

    def _allocated(self, alloc: Alloc) -> Pointer:
        """The type of the address of a new object."""
        pointer = self.types.of(alloc.target)
        if pointer is None:
            raise Mistyped(f"the object {alloc.name} has no region")
        return pointer

    def _allocs(self) -> Iterable[Alloc]:
        for procedure in self.original.procedures.values():
            for edge in procedure.edges:
                if isinstance(edge.op, Alloc):
                    yield edge.op

    # ------------------------------------------------------------------------------- operations

    def _edge(self, edge: Edge, procedure: Procedure) -> list[Edge]:
        """The edges that replace one; the first keeps its index."""
        ops = self._ops(edge.op, procedure)
        made: list[Edge] = []
        source = edge.source
        for number, op in enumerate(ops):
            last = number == len(ops) - 1
            target = (
                edge.target if last else Location(next(self._locations), procedure.name, edge.target.span)
            )
            if number == 0:
                made.append(replace(edge, op=op, target=target))
            else:
                made.append(Edge(next(self._edges), source, op, target, edge.span))
            source = target
        if isinstance(edge.op, Alloc) and (region := self._allocated(edge.op).region) in self.objects:
            cells = self.objects[region].cells
            self.contents.update((e.index, (edge.index, cells)) for e in made if isinstance(e.op, Havoc))
        return made

    def _ops(self, op: object, procedure: Procedure) -> list[BasicOp]:
        terms = self.terms
        if isinstance(op, Assign):
            return [self._assign(op.targets, op.values)]
        if isinstance(op, Return):
            return [Return(tuple(map(terms.value, op.values, procedure.results)))]
        if isinstance(op, Assume):
            return [Assume(terms.plain(op.condition))]
        if isinstance(op, Havoc):
            return [Havoc(tuple(map(terms.variable, op.targets)))]
        if isinstance(op, Call):
            callee = self.original.procedures[op.procedure]
            arguments = tuple(map(terms.value, op.arguments, callee.parameters))
            return [Call(op.procedure, arguments, tuple(map(terms.variable, op.targets)))]
        if isinstance(op, Load):
            return [self.load(op)]
        if isinstance(op, Store):
            return [self._store(op)]
        if isinstance(op, Alloc):
            return self._alloc(op)
        assert isinstance(op, Free), "memory is partitioned before blocks are formed"
        return [Assume(build.TRUE)]

    def _assign(self, targets: Iterable[Expr], values: Iterable[Expr]) -> Assign:
        pairs = [
            (self.terms.variable(x), self.terms.value(v, x)) for x, v in zip(targets, values, strict=True)
        ]
        return Assign(tuple(x for x, _ in pairs), tuple(v for _, v in pairs))

    def load(self, op: Load) -> BasicOp:
        pointer = self.types.of(op.address)
        target = self.terms.variable(op.target)
        sort = op.target.sort
        assert isinstance(sort, MachineSort)
        if pointer is None:  # an access to no object: the value does not matter
            return Havoc((target,))
        field, width = self.types.field(pointer, sort.width // 8), sort.width // 8
        if field is None:
            memory, index = self.bytes(pointer.region), self.terms.machine(self._anchored(op.address))
            value = _composed([build.select(memory, self._at(index, n)) for n in range(width)])
        elif pointer.region in self.objects:
            value = self._read(self.objects[pointer.region], field, pointer, op.address)
        else:
            value = build.select(self.array(pointer.region, field), self._index(op.address, pointer))
        return Assign((target,), (build.wrap(value, sort),))

    def _store(self, op: Store) -> BasicOp:
        pointer = self.types.of(op.address)
        sort = op.value.sort
        assert isinstance(sort, MachineSort)
        if pointer is None:
            return Assume(build.TRUE)
        width = sort.width // 8
        value = build.wrap(self.terms.plain(op.value), machine(sort.width, signed=False))
        field = self.types.field(pointer, width)
        if field is None:
            memory, index = self.bytes(pointer.region), self.terms.machine(self._anchored(op.address))
            after = memory
            for n, byte in enumerate(_decomposed(value, width)):
                after = build.store(after, self._at(index, n), byte)
            return Assign((memory,), (after,))
        if pointer.region in self.objects:
            return self._write(self.objects[pointer.region], field, pointer, op.address, value)
        memory = self.array(pointer.region, field)
        return Assign((memory,), (build.store(memory, self._index(op.address, pointer), value),))

    # ----------------------------------------------------------------------------------- arrays

    def array(self, region: int, field: Field) -> Expr:
        return self._memory(f"mem${region}${field.offset}", field.width, region)

    def bytes(self, region: int) -> Expr:
        return self._memory(f"mem${region}", 1, region)

    def _memory(self, name: str, width: int, region: int) -> Expr:
        cell = machine(8 * width, signed=False)
        memory = build.var(name, array(self.address, cell))
        if memory not in self.globals:
            self.globals[memory] = None
            if region in self._zeroed:
                self.initial[memory] = build.const_array(self.address, build.constant(0, cell))
        return memory

    def _zeroed_regions(self) -> frozenset[int]:
        """The regions all of whose objects start with zeros."""
        zero: dict[int, bool] = {}
        for alloc in self._allocs():
            region = self._allocated(alloc).region
            zero[region] = zero.get(region, True) and alloc.zero
        return frozenset(region for region, every in zero.items() if every)

    def _at(self, index: Expr, offset: int) -> Expr:
        return build.add(index, build.constant(offset, self.address))

    def _index(self, address: Expr, pointer: Pointer) -> Expr:
        """The address of the element: without the phase."""
        return self.terms.machine(build.add(self._anchored(address), build.integer(-pointer.phase)))

    def _anchored(self, address: Expr) -> Expr:
        """The address of a valid access, with the constant for a base that then can have no other value."""
        parts = address.args if address.kind is Kind.ADD else (address,)
        found = [x for x in parts if x in self.anchors]
        return build.add(address, build.sub(build.integer(BASE), found[0])) if len(found) == 1 else address

    def _find_anchors(self) -> frozenset[Expr]:
        """The variables that hold the address of the one object of a fixed region, or nothing of use."""
        once = executed_once(self.original)
        number: dict[int, int] = {}
        found: dict[Expr, bool] = {}
        for procedure in self.original.procedures.values():
            for edge in procedure.edges:
                if isinstance(edge.op, Alloc):
                    target, pointer = edge.op.target, self._allocated(edge.op)
                    number[pointer.region] = number.get(pointer.region, 0) + 1
                    fixed = self._region(pointer).layout == "fixed" and edge.index in once
                    found[target] = fixed and target not in found
        other = frozenset(_assigned(self.original))
        return frozenset(
            x
            for x, fixed in found.items()
            if fixed and x not in other and number[self.partition.carriers[x].region] == 1
        )

    # -------------------------------------------------------------------------------- variables

    def _find_objects(self) -> Iterable[tuple[int, _Object]]:
        for name, procedure in self.original.procedures.items():
            for edge in procedure.edges:
                if isinstance(edge.op, Alloc):
                    pointer = self._allocated(edge.op)
                    if self._region(pointer).storage != "arrays":
                        yield pointer.region, self._object(edge.op, pointer.region, name)

    def _region(self, pointer: Pointer) -> Region:
        return self.partition.regions[pointer.region]

    def _object(self, alloc: Alloc, number: int, procedure: str) -> _Object:
        region = self.partition.regions[number]
        local = region.storage == "locals"
        prefix = f"{alloc.target.name}$+" if local else f"mem${number}$"  # `$4` may end another's name
        cells: dict[int, Expr] = {}
        for field in region.fields or ():
            sort = machine(8 * field.width, signed=False)
            for offset in cell_offsets(region, field, alloc.size):
                cells[offset] = build.var(f"{prefix}{offset}", sort)
        if not local:
            for cell in cells.values():
                self.globals[cell] = None
        return _Object(alloc.target, cells, procedure if local else None)

    def _offset(self, made: _Object, address: Expr) -> Expr:
        """Where in the object an address points."""
        if made.scope is not None:
            return self.terms.machine(build.sub(address, made.base))
        return self.terms.machine(build.add(self._anchored(address), build.integer(-BASE)))

    def _candidates(
        self, made: _Object, field: Field, pointer: Pointer, address: Expr
    ) -> list[tuple[Expr, Expr]]:
        """The cells an access may touch, each with the condition for it."""
        stride = self._region(pointer).stride
        if not stride:
            return [(build.TRUE, made.cells[field.offset])]
        offset = self._offset(made, address)
        return [
            (build.eq(offset, build.constant(at, self.address)), cell)
            for at, cell in made.cells.items()
            if at % stride == field.offset
        ]

    def _read(self, made: _Object, field: Field, pointer: Pointer, address: Expr) -> Expr:
        choices = self._candidates(made, field, pointer, address)
        if not choices:
            return build.constant(0, machine(8 * field.width, signed=False))
        value = choices[-1][1]
        for condition, cell in reversed(choices[:-1]):
            value = build.ite(condition, cell, value)
        return value

    def _write(self, made: _Object, field: Field, pointer: Pointer, address: Expr, value: Expr) -> BasicOp:
        choices = self._candidates(made, field, pointer, address)
        written = [(cell, build.ite(condition, value, cell)) for condition, cell in choices]
        changed = [(cell, after) for cell, after in written if after is not cell]
        return Assign(tuple(cell for cell, _ in changed), tuple(after for _, after in changed))

    # -------------------------------------------------------------------------------- addresses

    def _alloc(self, op: Alloc) -> list[BasicOp]:
        pointer, target = self._allocated(op), self.terms.variable(op.target)
        region = self._region(pointer)
        if pointer.region in self.objects:
            return self._fresh_cells(op, target, self.objects[pointer.region])
        if region.layout == "fixed":
            return [*self._next_address(op, target, pointer.region), *self._zeros(op, pointer)]
        return [*self._any_address(op, target), *self._zeros(op, pointer)]

    def _fresh_cells(self, op: Alloc, target: Expr, made: _Object) -> list[BasicOp]:
        cells = tuple(made.cells.values())
        zeros = tuple(build.constant(0, cell.sort) for cell in cells) if op.zero else ()
        base = build.constant(BASE, self.address)
        if op.zero or not cells:
            return [Assign((target, *cells[: len(zeros)]), (base, *zeros))]
        return [Assign((target,), (base,)), Havoc(cells)]

    def _size(self, op: Alloc) -> Expr:
        return self.terms.machine(op.size)

    def _next_address(self, op: Alloc, target: Expr, region: int) -> list[BasicOp]:
        brk = build.var(f"mem$brk${region}", self.address)
        self.globals[brk] = None
        self.initial[brk] = build.constant(BASE, self.address)
        step = build.constant(GAP, self.address)
        if not self.partition.regions[region].stride:  # only starts of objects are told apart
            return [Assign((target, brk), (brk, build.add(brk, step)))]
        size, top = self._size(op), build.constant((1 << self.address.width) - MARGIN, self.address)
        after = build.add(brk, build.add(size, step))
        moved: list[BasicOp] = [Assign((target, brk), (brk, after))]
        fits = build.and_(build.le(brk, top), build.le(size, build.sub(top, brk)))
        return [Assume(fits), *moved]

    def _any_address(self, op: Alloc, target: Expr) -> list[BasicOp]:
        """Below all objects before it, or above them."""
        one, zero = build.constant(1, self.address), build.constant(0, self.address)
        top = build.constant((1 << self.address.width) - MARGIN, self.address)
        low, brk = (build.var(name, self.address) for name in ("mem$brk$low", "mem$brk"))
        for edge, start in ((low, top), (brk, one)):
            self.globals[edge] = None
            self.initial[edge] = start
        size = self._size(op)
        end = build.add(target, build.ite(build.eq(size, zero), one, size))
        conditions = [
            build.le(one, target),
            build.le(target, top),
            build.le(size, build.sub(top, target)),
            build.or_(build.le(brk, target), build.le(end, low)),
        ]
        if op.align > 1:
            aligned = build.eq(build.bit_and(target, build.constant(op.align - 1, self.address)), zero)
            conditions.append(aligned)
        above = build.ite(build.le(brk, target), end, brk)
        below = build.ite(build.lt(target, low), target, low)
        return [
            Havoc((target,)),
            Assume(build.conjunction(conditions)),
            Assign((low, brk), (below, above)),
        ]

    def _zeros(self, op: Alloc, pointer: Pointer) -> list[BasicOp]:
        """Stores of zeros into a small object that shares its region with objects of arbitrary contents."""
        region, number = self._region(pointer), pointer.region
        small = op.size.kind is Kind.CONST and op.size.value <= ZEROED
        if not op.zero or number in self._zeroed or not small:
            return []
        index = self.terms.machine(op.target)
        after: dict[Expr, Expr] = {}
        if region.fields is None:
            after[self.bytes(number)] = self._zeroed_cells(
                self.bytes(number), index, range(int(op.size.value))
            )
        for field in region.fields or ():
            starts = (at - field.offset for at in cell_offsets(region, field, op.size))
            memory = self.array(number, field)
            after[memory] = self._zeroed_cells(memory, index, starts)
        return [Assign(tuple(after), tuple(after.values()))] if after else []

    def _zeroed_cells(self, memory: Expr, index: Expr, offsets: Iterable[int]) -> Expr:
        assert isinstance(memory.sort, ArraySort)
        zero = build.constant(0, memory.sort.element)
        for offset in offsets:
            memory = build.store(memory, self._at(index, offset), zero)
        return memory


def _assigned(program: Program) -> Iterable[Expr]:
    """The variables that get values other than by `Alloc` or `Havoc`."""
    for procedure in program.procedures.values():
        yield from (*procedure.parameters, *procedure.results)
        for edge in procedure.edges:
            if isinstance(edge.op, Assign | Call):
                yield from edge.op.targets
            elif isinstance(edge.op, Load):
                yield edge.op.target


def cell_offsets(region: Region, field: Field, size: Expr) -> range:
    """Where in an object of the given size the cells of a field lie; all of them must be known."""
    if not region.stride:
        return range(field.offset, field.offset + 1)
    if size.kind is not Kind.CONST:
        raise Mistyped("the cells of an object of unknown size cannot be variables")
    return range(field.offset, int(size.value) - field.width + 1, region.stride)


def _composed(parts: list[Expr]) -> Expr:
    """The number whose little-endian bytes are given."""
    sort = machine(8 * len(parts), signed=False)
    total = build.wrap(parts[0], sort)
    for n, byte in enumerate(parts[1:], 1):
        total = build.bit_or(total, build.shl(build.wrap(byte, sort), build.constant(8 * n, sort)))
    return total


def _decomposed(value: Expr, width: int) -> list[Expr]:
    """The little-endian bytes of an unsigned number."""
    byte = machine(8, signed=False)
    return [build.wrap(build.shr(value, build.constant(8 * n, value.sort)), byte) for n in range(width)]

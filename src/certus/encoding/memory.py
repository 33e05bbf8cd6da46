"""Replace memory operations by assignments, as a partition says (`core.memory`). Trusted.

Addresses become machine integers of the pointers' width, so that values stored in memory, computed from
indexes and compared have one sort; sums and products of addresses are computed modulo 2**bits, which is
exact as long as the results are addresses. Comparisons and distances are of values that C allows to compare:
addresses into objects, or one past their end.

- An *array region* has one array per field, from the address of the element (the phase subtracted) to the
  bits of the field, or one from addresses to bytes. Addresses are never used twice, so a new object has
  arbitrary contents already; if all objects of a region start with zeros, the arrays do.
- A region whose only object is in variables has one *variable per cell*. An access at an address that is not
  constant is a choice between cells.
- The addresses of a region with fixed layout are assigned upwards from `Partition.base`, separately in each
  region. Those of the others are arbitrary, aligned, and below or above all earlier objects
  (`mem$brk$low`, `mem$brk`). `encoding.placement` says what happens when there are no more of them.

The result admits every execution of the program whose memory accesses are valid, whose live objects fit into
the address space without the bytes before the base and the last `MARGIN` bytes, and none of whose objects
with arbitrary addresses is between two earlier ones. (It admits more where objects that start with zeros
share a region with others: their contents are then arbitrary.) Original locations and edges keep their
identity; added ones have indexes above all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from certus.core import build
from certus.core.effects import assigned_variables
from certus.core.memory import Field, Partition, Pointer, Region, executed_once, renewed
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    BasicOp,
    Call,
    Edge,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    Location,
    MarkBits,
    Op,
    Procedure,
    Program,
    Return,
    Store,
)
from certus.core.terms import Expr, Kind, MachineSort, array, machine
from certus.encoding.address_terms import AddressTerms, composed, decomposed
from certus.encoding.addresses import AddressTypes, Mistyped, cell_offsets
from certus.encoding.lifetimes import Lifetimes
from certus.encoding.placement import Placement, Ways
from certus.encoding.provenance import Provenance
from certus.encoding.tracking import Tracking
from certus.encoding.twin_memory import TwinMemory
from certus.encoding.watching import Watching
from certus.encoding.written_bits import Cells, WrittenBits, filled


def lower_memory(program: Program, partition: Partition) -> Program:
    """Return `program` without memory operations; raise `Mistyped` where the partition does not fit it."""
    return MemoryLowering(program, partition).program()


@dataclass(frozen=True, slots=True)
class CellObject:
    """The only object of a region that is kept in variables: its cells by offset."""

    base: Expr  # the variable that gets the address of the object
    cells: Mapping[int, Expr]
    scope: str | None  # the procedure the cells are local to


class MemoryLowering:
    """The replacement of the memory operations of one program. `objects` are the regions kept in variables,
    `anchors` the variables that hold the address of the only object of a fixed region, or an unused value.
    After `program`, `contents` has the edges that give cells their arbitrary contents: for each the `Alloc`
    edge, and the cells by offset."""

    def __init__(self, program: Program, partition: Partition) -> None:
        self.original = program
        self.partition = partition
        self.types = AddressTypes(partition)
        self.terms = AddressTerms(self.types)
        self._edges = count(1 + max(program.edge, default=-1))
        self._locations = count(1 + max((at.index for at in program.location.values()), default=-1))
        self.globals: dict[Expr, Expr | None] = {}  # the added ones, with their values at the start
        self.contents: dict[int, tuple[int, Mapping[int, Expr]]] = {}
        self._zeroed = self._zeroed_regions()
        self.objects = dict(self._find_objects())
        self.anchors = self._find_anchors()
        self.lifetimes = Lifetimes(
            program, partition, self.types, self.terms, self.anchors, self.declare, self.renewed
        )
        self._placement = Placement(self)
        self.twins = TwinMemory(self)
        self.written = WrittenBits(self)

    @cached_property
    def once(self) -> frozenset[int]:
        """The edges that no execution takes twice."""
        return executed_once(self.original)

    @cached_property
    def renewed(self) -> Mapping[int, tuple[Expr, ...]]:
        """The regions whose objects an execution uses one at a time, with the holders of their addresses."""
        return renewed(self.original, self.partition)

    @cached_property
    def watching(self) -> Watching:
        tracking = Tracking(self.original, self.partition, self.lifetimes, self.terms, self.twins)
        return Watching(self, tracking)

    @property
    def address(self) -> MachineSort:
        return self.partition.address

    @property
    def provenance(self) -> Provenance:
        return self.lifetimes.provenance

    # ----------------------------------------------------------------------------- the program

    def program(self) -> Program:
        """Return the program without memory operations."""
        procedures = {name: self._procedure(p) for name, p in self.original.procedures.items()}
        for twin in self.provenance.twins(self.original.globals):
            self.declare(twin, self.provenance.none)
        shared = (*map(self.terms.variable, self.original.globals), *self.globals)
        initial = {
            self.terms.variable(x): self.terms.value(value, x) for x, value in self.original.initial.items()
        }
        names = {self.terms.variable(x): name for x, name in self.original.source_names.items()}
        return replace(
            self.original,
            procedures=procedures,
            globals=shared,
            initial=initial | {x: value for x, value in self.globals.items() if value is not None},
            source_names={**names, **self._cell_names()},
        )

    def _procedure(self, procedure: Procedure) -> Procedure:
        cells = [x for o in self.objects.values() if o.scope == procedure.name for x in o.cells.values()]
        cells += (*self.twins.local_cells(procedure.name), *self.written.local_cells(procedure.name))
        ghosts = self.lifetimes.local_variables(procedure.name)
        twins = dict.fromkeys(self.provenance.twins(procedure.variables))
        edges: list[Edge] = []
        for edge in procedure.edges:
            edges += self._edge(edge, procedure)
        unused = build.var(f"{procedure.name}.$base", self.address)
        if any(isinstance(edge.op, Call) and unused in edge.op.targets for edge in edges):
            twins[unused] = None
        rename = self.terms.variable
        return replace(
            procedure,
            parameters=self._with_twins(procedure.parameters),
            results=self._with_twins(procedure.results),
            variables=(*map(rename, procedure.variables), *cells, *ghosts, *twins),
            edges=tuple(edges),
        )

    def declare(self, x: Expr, initial: Expr | None) -> None:
        """Add a global, with its value at the start."""
        self.globals.setdefault(x, initial)

    def _with_twins(self, variables: Iterable[Expr]) -> tuple[Expr, ...]:
        """Return variables as they are renamed, each followed by its twin."""
        return tuple(
            each
            for x in variables
            for each in (self.terms.variable(x), self.provenance.twin(x))
            if each is not None
        )

    def _cell_names(self) -> dict[Expr, str]:
        """Return the names in the source of cells that are a whole object."""
        names: dict[Expr, str] = {}
        for alloc in self.allocs():
            object_ = self.objects.get(self.allocated(alloc).region)
            if object_ is not None and list(object_.cells) == [0] and alloc.size.kind is Kind.CONST:
                sort = object_.cells[0].sort
                assert isinstance(sort, MachineSort)
                if alloc.size.value == sort.width // 8:
                    names[object_.cells[0]] = alloc.name
        return names

    def allocated(self, alloc: Alloc) -> Pointer:
        """Return the type of the address of a new object."""
        pointer = self.types.of(alloc.target)
        if pointer is None:
            raise Mistyped(f"the object {alloc.name} has no region")
        return pointer

    def allocs(self) -> Iterable[Alloc]:
        return (edge.op for edge in self.original.edge.values() if isinstance(edge.op, Alloc))

    # ------------------------------------------------------------------------------- operations

    def _edge(self, edge: Edge, procedure: Procedure) -> list[Edge]:
        """Return the edges that replace one; the first keeps its index."""
        if not isinstance(edge.op, Alloc):
            return self._chain(edge, edge.source, self._ops(edge.op, procedure), edge.target)
        before, ways, after = self._allocation(edge.op)
        if len(ways) == 1:
            edges = self._chain(edge, edge.source, [*before, *ways[0], *after], edge.target)
        else:
            start = self._between(edge) if before else edge.source
            end = self._between(edge) if after else edge.target
            edges = self._chain(edge, edge.source, before, start)
            for way in ways:
                edges += self._chain(edge, start, way, end, first=not edges)
            edges += self._chain(edge, end, after, edge.target, first=False)
        if (region := self.allocated(edge.op).region) in self.objects:
            cells = self.objects[region].cells
            self.contents.update((e.index, (edge.index, cells)) for e in edges if isinstance(e.op, Havoc))
        return edges

    def _chain(
        self, edge: Edge, source: Location, ops: Sequence[BasicOp], target: Location, *, first: bool = True
    ) -> list[Edge]:
        """Return edges with these statements in place of one; if they are the `first`, one keeps its
        index."""
        edges: list[Edge] = []
        for number, op in enumerate(ops):
            end = target if number == len(ops) - 1 else self._between(edge)
            if number == 0 and first:
                edges.append(replace(edge, op=op, target=end))
            else:
                edges.append(Edge(next(self._edges), source, op, end, edge.span))
            source = end
        return edges

    def _between(self, edge: Edge) -> Location:
        """Return a new location on the way to the target of an edge."""
        return Location(next(self._locations), edge.source.procedure, edge.target.span)

    def _ops(self, op: Op, procedure: Procedure) -> list[BasicOp]:
        """Return the statements that replace a statement of `procedure`."""
        terms = self.terms
        if isinstance(op, Assign):
            return [self._assign(op.targets, op.values)]
        if isinstance(op, Return):
            return [Return(self._bound(op.values, procedure.results))]
        if isinstance(op, Assume):
            return [Assume(terms.plain(op.condition))]
        if isinstance(op, Havoc):
            twins = self.provenance.twins(op.targets)  # of values that are derived from no object
            return [Havoc(tuple(map(terms.variable, op.targets))), *self._no_object(twins)]
        if isinstance(op, Call):
            return self._call(op, procedure)
        if isinstance(op, Load):
            return [self._with(self.load(op), self.twins.loaded(op))]
        if isinstance(op, Store):
            ghosts = (self.twins.stored(op), self.written.stored(op), self.watching.stored(op))
            return [self._with(self.store(op), [pair for pairs in ghosts for pair in pairs])]
        if isinstance(op, Inspect):
            return [self.lifetimes.inspected(op)]
        if isinstance(op, InspectBits):
            return [self.written.inspected(op)]
        if isinstance(op, MarkBits):
            return [self.written.marked(op)]
        if isinstance(op, InspectHeap):
            return self.watching.asked(op, procedure)
        assert isinstance(op, Free), "memory is partitioned before blocks are formed"
        return [*self.lifetimes.ended(op), *self._placement.ended(op)] or [Assume(build.TRUE)]

    def _bound(self, values: Iterable[Expr], targets: Iterable[Expr]) -> tuple[Expr, ...]:
        """Return the values of parameters or results, each followed by that of its twin."""
        bound: list[Expr] = []
        for value, x in zip(values, targets, strict=True):
            bound.append(self.terms.value(value, x))
            bound += (start for _, start in self.provenance.copied((x,), (value,)))
        return tuple(bound)

    def _call(self, op: Call, procedure: Procedure) -> list[BasicOp]:
        callee = self.original.procedures[op.procedure]
        targets: list[Expr] = []
        lost: list[Expr] = []  # the twins of targets that get a number
        for result, x in zip(callee.results, op.targets, strict=False):
            targets.append(self.terms.variable(x))
            twin = self.provenance.twin(x)
            if self.provenance.twin(result) is not None:  # it may be used as a number afterwards
                targets.append(twin or build.var(f"{procedure.name}.$base", self.address))
            elif twin is not None:
                lost.append(twin)
        arguments = self._bound(op.arguments, callee.parameters)
        return [Call(op.procedure, arguments, tuple(targets)), *self._no_object(lost)]

    def _no_object(self, twins: list[Expr]) -> list[BasicOp]:
        return [Assign(tuple(twins), (self.provenance.none,) * len(twins))] if twins else []

    def _with(self, op: BasicOp, pairs: list[tuple[Expr, Expr]]) -> BasicOp:
        """Return a statement that assigns to more variables at the same time."""
        if not pairs or not isinstance(op, Assign):
            return op
        return Assign((*op.targets, *(x for x, _ in pairs)), (*op.values, *(v for _, v in pairs)))

    def _assign(self, targets: Sequence[Expr], values: Sequence[Expr]) -> Assign:
        pairs = [
            (self.terms.variable(x), self.terms.value(v, x)) for x, v in zip(targets, values, strict=True)
        ]
        pairs += self.provenance.copied(targets, values)
        return Assign(tuple(x for x, _ in pairs), tuple(v for _, v in pairs))

    def load(self, op: Load | InspectBits, cells: Cells | None = None) -> BasicOp:
        """Return the statement that replaces a load, from memory or from other `cells` of the same shape."""
        cells = cells or self
        pointer = self.types.of(op.address)
        target = self.terms.variable(op.target)
        sort = op.target.sort
        assert isinstance(sort, MachineSort)
        if pointer is None:  # the address of no object: the access is invalid, and its value arbitrary
            return Havoc((target,))
        field, width = self.types.field(pointer, sort.width // 8), sort.width // 8
        if field is None:
            memory, index = cells.bytes(pointer.region), self.terms.machine(self.anchored(op.address))
            value = composed([build.select(memory, self.at(index, n)) for n in range(width)])
        elif pointer.region in cells.objects:
            value = self.read(cells.objects[pointer.region], field, pointer, op.address)
        else:
            value = build.select(cells.array(pointer.region, field), self.index(op.address, pointer))
        return Assign((target,), (build.wrap(value, sort),))

    def store(self, op: Store, cells: Cells | None = None) -> BasicOp:
        """Return the statement that replaces a store, to memory or to other `cells` of the same shape."""
        cells = cells or self
        pointer = self.types.of(op.address)
        sort = op.value.sort
        assert isinstance(sort, MachineSort)
        if pointer is None:
            return Assume(build.TRUE)
        width = sort.width // 8
        value = build.wrap(self.terms.plain(op.value), machine(sort.width, signed=False))
        field = self.types.field(pointer, width)
        if field is None:
            memory, index = cells.bytes(pointer.region), self.terms.machine(self.anchored(op.address))
            after = memory
            for n, byte in enumerate(decomposed(value, width)):
                after = build.store(after, self.at(index, n), byte)
            return Assign((memory,), (after,))
        if pointer.region in cells.objects:
            return self.write(cells.objects[pointer.region], field, pointer, op.address, value)
        memory = cells.array(pointer.region, field)
        return Assign((memory,), (build.store(memory, self.index(op.address, pointer), value),))

    # ----------------------------------------------------------------------------------- arrays

    def array(self, region: int, field: Field) -> Expr:
        """Return the array of a field of a region."""
        return self._memory(f"mem${region}${field.offset}", field.width, region)

    def bytes(self, region: int) -> Expr:
        """Return the array of a region that consists of bytes."""
        return self._memory(f"mem${region}", 1, region)

    def _memory(self, name: str, width: int, region: int) -> Expr:
        cell = machine(8 * width, signed=False)
        memory = build.var(name, array(self.address, cell))
        if memory not in self.globals:
            zeros = build.const_array(self.address, build.constant(0, cell))
            self.globals[memory] = zeros if region in self._zeroed else None
        return memory

    def _zeroed_regions(self) -> frozenset[int]:
        """Return the regions whose objects all start with zeros."""
        zero: dict[int, bool] = {}
        for alloc in self.allocs():
            region = self.allocated(alloc).region
            zero[region] = zero.get(region, True) and alloc.zero
        return frozenset(region for region, every in zero.items() if every)

    def at(self, index: Expr, offset: int) -> Expr:
        return build.add(index, build.constant(offset, self.address))

    def index(self, address: Expr, pointer: Pointer) -> Expr:
        """Return the address of the element: without the phase."""
        return self.terms.machine(build.add(self.anchored(address), build.integer(-pointer.phase)))

    def anchored(self, address: Expr) -> Expr:
        """Return the address of a valid access, with a constant for a base that can have no other value
        then."""
        parts = address.args if address.kind is Kind.ADD else (address,)
        bases = [x for x in parts if x in self.anchors]
        base = build.integer(self.partition.base)
        return build.add(address, build.sub(base, bases[0])) if len(bases) == 1 else address

    def _find_anchors(self) -> frozenset[Expr]:
        """Return the variables that hold the address of the only object of a fixed region, or an unused
        value."""
        number: dict[int, int] = {}
        targets: dict[Expr, bool] = {}
        for procedure in self.original.procedures.values():
            for edge in procedure.edges:
                if isinstance(edge.op, Alloc):
                    target, pointer = edge.op.target, self.allocated(edge.op)
                    number[pointer.region] = number.get(pointer.region, 0) + 1
                    fixed = self.region_of(pointer).layout == "fixed" and edge.index in self.once
                    targets[target] = fixed and target not in targets
        other = assigned_variables(self.original)
        return frozenset(
            x
            for x, fixed in targets.items()
            if fixed and x not in other and number[self.partition.carriers[x].region] == 1
        )

    # -------------------------------------------------------------------------------- variables

    def _find_objects(self) -> Iterable[tuple[int, CellObject]]:
        for name, procedure in self.original.procedures.items():
            for edge in procedure.edges:
                if isinstance(edge.op, Alloc):
                    pointer = self.allocated(edge.op)
                    if self.region_of(pointer).storage != "arrays":
                        yield pointer.region, self._object(edge.op, pointer.region, name)

    def region_of(self, pointer: Pointer) -> Region:
        return self.partition.regions[pointer.region]

    def _object(self, alloc: Alloc, number: int, procedure: str) -> CellObject:
        region = self.partition.regions[number]
        local = region.storage == "locals"
        prefix = f"{alloc.target.name}$+" if local else f"mem${number}$"  # `$4` may end another's name
        cells: dict[int, Expr] = {}
        for field in region.fields or ():
            sort = machine(8 * field.width, signed=False)
            for offset in cell_offsets(region, field, alloc.size):
                cells[offset] = build.var(f"{prefix}{offset}", sort)
        if not local:
            self.globals.update(dict.fromkeys(cells.values()))
        return CellObject(alloc.target, cells, procedure if local else None)

    def _offset(self, object_: CellObject, address: Expr) -> Expr:
        """Return the offset of an address in the object."""
        if object_.scope is not None:
            return self.terms.machine(build.sub(address, object_.base))
        return self.terms.machine(build.add(self.anchored(address), build.integer(-self.partition.base)))

    def _candidates(
        self, object_: CellObject, field: Field, pointer: Pointer, address: Expr
    ) -> list[tuple[Expr, Expr]]:
        """Return the cells that an access may touch, each with its condition."""
        stride = self.region_of(pointer).stride
        if not stride:
            return [(build.TRUE, object_.cells[field.offset])]
        offset = self._offset(object_, address)
        return [
            (build.eq(offset, build.constant(at, self.address)), cell)
            for at, cell in object_.cells.items()
            if at % stride == field.offset
        ]

    def read(self, object_: CellObject, field: Field, pointer: Pointer, address: Expr) -> Expr:
        choices = self._candidates(object_, field, pointer, address)
        if not choices:
            return build.constant(0, machine(8 * field.width, signed=False))
        value = choices[-1][1]
        for condition, cell in reversed(choices[:-1]):
            value = build.ite(condition, cell, value)
        return value

    def write(
        self, object_: CellObject, field: Field, pointer: Pointer, address: Expr, value: Expr
    ) -> Assign:
        choices = self._candidates(object_, field, pointer, address)
        written = [(cell, build.ite(condition, value, cell)) for condition, cell in choices]
        changed = [(cell, after) for cell, after in written if after is not cell]
        return Assign(tuple(cell for cell, _ in changed), tuple(after for _, after in changed))

    # -------------------------------------------------------------------------------- addresses

    def _allocation(self, op: Alloc) -> tuple[list[BasicOp], Ways, list[BasicOp]]:
        """Return the statements that replace an allocation: before the address is chosen, the ways to choose
        it, and after it."""
        number = self.allocated(op).region
        begun = [*self._placement.begun(op), *self.lifetimes.begun(op, number)]
        begun += (*self.written.begun(op), *self.watching.begun(op))
        return self.lifetimes.promise(op), self._placement.placed(op), [*self._zeros(op), *begun]

    def _zeros(self, op: Alloc) -> list[BasicOp]:
        """Store zeros into a small object that shares its region with objects of arbitrary contents."""
        pointer = self.allocated(op)
        shared = op.zero and pointer.region not in self._zeroed and pointer.region not in self.objects
        return filled(self, op, pointer, self) if shared else []

    def arrays(self, number: int) -> list[Expr]:
        """Return the arrays that hold the memory of a region."""
        fields = self.partition.regions[number].fields
        return [self.bytes(number)] if fields is None else [self.array(number, field) for field in fields]

    def notes(self, number: int) -> list[Expr]:
        """Return the arrays that hold what is recorded about the memory of a region."""
        return [*self.twins.arrays(number), *self.written.arrays(number)]

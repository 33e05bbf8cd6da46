"""Check a partition of memory by one scan over the program, as a type checker does.

Nothing is inferred. Every operation must respect the types of the partition (`core.memory`), and the claims
of each region must follow from the operations:

- Fields are disjoint and every access touches exactly one, so it leaves the others unchanged.
- A *fixed* layout is sound if no number that the program computes depends on addresses (none leaks). Order
  and distance may matter inside the only object of a region (the distance from null is undefined in C).
  Equality may matter there too, and between objects for pointers to exactly the same offset: then equal
  pointers mean the same object. (A pointer past the end of one object may equal the start of another; such
  pointers have different phases.)
- Cells may be *variables* if a region has one object: in the whole execution; at any time, if no address of
  an earlier one is read any more (`core.memory.renewed`); or in each activation, if only the variable that
  the allocation writes ever holds its address, so no other access is possible.
- In a `wild` region integers that are not addresses may become pointers. They may come only from addresses of
  the same region, and may point to any byte of it, so its stride is 1. Constants that are never the address
  of an object are exempt, and memory that was never written contains no address of an object. An arbitrary
  value may equal an address once they are compared, even in parts: then it must have the same type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from certus.core.diagnostic import Diagnostic
from certus.core.memory import Field, Partition, Pointer, Region, executed_once, renewed
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Choice,
    Edge,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    MarkBits,
    Procedure,
    Program,
    Return,
    Seq,
    Store,
)
from certus.core.terms import INT, Expr, Kind, MachineSort
from certus.encoding.addresses import AddressTypes, Mistyped, cell_offsets, no_object
from certus.encoding.memory import lower_memory

CELLS = 100_000  # the most variables a region may become


def check_partition(program: Program, partition: Partition) -> Diagnostic | None:
    """Return why the partition does not describe the memory of the program; None if it does."""
    scan = _Scan(program, partition)
    try:
        scan.check()
    except Mistyped as error:
        span = scan.edge.span if scan.edge is not None else None
        return Diagnostic("partition-refused", f"the partition of memory does not fit: {error}", span=span)
    return None


class _Scan:
    """One scan over a program; every method raises `Mistyped` for a mistake of the partition."""

    def __init__(self, program: Program, partition: Partition) -> None:
        self.program = program
        self.partition = partition
        self.types = AddressTypes(partition)
        self.edge: Edge | None = None  # the edge being checked
        self._allocs: dict[int, list[Edge]] = {}  # by region

    def check(self) -> None:
        if self.partition.bits != self.program.pointer_bits:
            raise Mistyped(f"pointers have {self.program.pointer_bits} bits, not {self.partition.bits}")
        self._check_carriers()
        for region in self.partition.regions:
            self._check_shape(region)
        for variable, value in self.program.initial.items():
            self._flow(value, variable)
        for procedure in self.program.procedures.values():
            for edge in procedure.edges:
                self.edge = edge
                self._check_edge(edge, procedure)
        self.edge = None
        self._check_claims()
        self._check_names()

    # ------------------------------------------------------------------------------ the shapes

    def _check_carriers(self) -> None:
        declared = frozenset(_variables(self.program))
        for variable, pointer in self.partition.carriers.items():
            sort = variable.sort
            fits = sort is INT or (isinstance(sort, MachineSort) and sort.width == self.partition.bits)
            if variable not in declared or not fits:
                raise Mistyped(f"{variable.name} is not a variable that can hold addresses")
            self._check_pointer(pointer)

    def _check_pointer(self, pointer: Pointer) -> None:
        if not 0 <= pointer.region < len(self.partition.regions):
            raise Mistyped(f"there is no region {pointer.region}")
        if self.types.shifted(pointer, 0) != pointer:
            raise Mistyped(f"the phase of {pointer} is not below the stride")

    def _check_shape(self, region: Region) -> None:
        if region.stride < 0:
            raise Mistyped("the stride of a region is negative")
        if region.wild and region.layout != "free":
            raise Mistyped("integers become pointers only where addresses are arbitrary")
        if region.wild and region.stride != 1:
            raise Mistyped("integers become pointers only where every byte can be the target of a pointer")
        if region.fields is None:
            if region.storage != "arrays":
                raise Mistyped("a region of bytes must be an array")
            if not region.stride and region.layout == "fixed":
                raise Mistyped("objects that consist of bytes cannot be numbered")
            if region.holds is not None:
                self._check_pointer(region.holds)
                if self.partition.regions[region.holds.region].layout != "free":
                    raise Mistyped("addresses that consist of bytes must be arbitrary")
            return
        fields = sorted(region.fields, key=lambda f: f.offset)
        for field in fields:
            self._check_field(field, region.stride)
        if any(one.offset + one.width > other.offset for one, other in pairwise(fields)):
            raise Mistyped("the fields of a region overlap")

    def _check_field(self, field: Field, stride: int) -> None:
        inside = not stride or (field.offset >= 0 and field.offset + field.width <= stride)
        if field.width < 1 or not inside:
            raise Mistyped("a field of a region does not lie inside its stride")
        if field.holds is not None:
            self._check_pointer(field.holds)
            if 8 * field.width != self.partition.bits:
                raise Mistyped("a field is too small, or too large, for the addresses it holds")

    # -------------------------------------------------------------------------- the operations

    def _check_edge(self, edge: Edge, procedure: Procedure) -> None:
        op = edge.op
        if isinstance(op, Assign):
            self._flows(op.values, op.targets)
        elif isinstance(op, Return):
            self._flows(op.values, procedure.results)
        elif isinstance(op, Assume):
            self.types.of(op.condition)
        elif isinstance(op, Call):
            self._check_call(op)
        elif isinstance(op, Alloc):
            self._check_alloc(edge, op)
        elif isinstance(op, Load):
            self._check_load(op)
        elif isinstance(op, Store):
            self._check_store(op)
        elif isinstance(op, Free):
            self.types.of(op.address)
        elif isinstance(op, Inspect):
            self.types.of(op.address)
            self.types.enters(op.size, None)
        elif isinstance(op, InspectHeap):
            pass  # it names no address
        elif isinstance(op, InspectBits | MarkBits):
            self._check_bits(op)
        elif isinstance(op, Seq | Choice):
            raise Mistyped("memory is partitioned before blocks are formed")
        else:
            assert isinstance(op, Havoc), "the only other operation"
            self.types.anything(op.targets)

    def _flows(self, values: Iterable[Expr], targets: Iterable[Expr]) -> None:
        for value, target in zip(values, targets, strict=True):
            self._flow(value, target)

    def _flow(self, value: Expr, target: Expr) -> None:
        self.types.enters(value, self.partition.carriers.get(target))

    def _check_call(self, call: Call) -> None:
        callee = self.program.procedures[call.procedure]
        self._flows(call.arguments, callee.parameters)
        for result, target in zip(callee.results, call.targets, strict=False):
            self._flow(result, target)
            carriers = self.partition.carriers
            if result.sort is INT and (result in carriers) != (target in carriers):
                raise Mistyped(f"{target.name} gets an address from {callee.name}, or a number, but not both")

    def _check_alloc(self, edge: Edge, alloc: Alloc) -> None:
        pointer = self.types.of(alloc.target)
        if pointer is None or pointer.phase != 0 or alloc.target.sort is not INT:
            raise Mistyped(f"{alloc.target.name} gets the address of an object but has no fitting type")
        self.types.enters(alloc.size, None)
        self._allocs.setdefault(pointer.region, []).append(edge)

    def _accessed(self, address: Expr) -> Pointer | None:
        pointer = self.types.of(address)
        if pointer is None and not (
            address.kind is Kind.CONST and no_object(int(address.value), self.partition.bits)
        ):
            raise Mistyped("an access through a number that is not an address")
        return pointer

    def _held(self, pointer: Pointer, width: int) -> tuple[Pointer | None, bool]:
        """Return the type of the addresses held where an access of `width` bytes goes, and whether the access
        may touch a part of one."""
        field = self.types.field(pointer, width)
        if field is not None:
            return field.holds, False
        return self.partition.regions[pointer.region].holds, 8 * width != self.partition.bits

    def _check_load(self, load: Load) -> None:
        pointer = self._accessed(load.address)
        target = self.partition.carriers.get(load.target)
        if pointer is None:
            return
        assert isinstance(load.target.sort, MachineSort)
        held, partial = self._held(pointer, load.target.sort.width // 8)
        if held == target:
            return
        if held is not None and (target is None or partial):
            self.types.leaks[held.region] = None
        elif held is not None:
            raise Mistyped(f"{load.target.name} gets an address of type {held} where {target} is expected")
        if target is not None:
            self.types.intruders[target.region] = None

    def _check_store(self, store: Store) -> None:
        pointer = self._accessed(store.address)
        if pointer is None:
            self.types.enters(store.value, None)
            return
        assert isinstance(store.value.sort, MachineSort)
        held, partial = self._held(pointer, store.value.sort.width // 8)
        if partial and held is not None:
            self.types.intruders[held.region] = None
        self.types.enters(store.value, None if partial else held)

    def _check_bits(self, op: InspectBits | MarkBits) -> None:
        pointer, bits = self._accessed(op.address), op.target if isinstance(op, InspectBits) else op.bits
        if isinstance(op, MarkBits):
            self.types.enters(op.bits, None)
        elif op.target in self.partition.carriers:
            raise Mistyped(f"{op.target.name} holds no address")
        assert isinstance(bits.sort, MachineSort)
        if pointer is not None:
            self.types.field(pointer, bits.sort.width // 8)

    # ------------------------------------------------------------------------------- the claims

    def _check_claims(self) -> None:
        regions = self.partition.regions
        wild = [number for number, region in enumerate(regions) if region.wild]
        if len(wild) > 1:
            raise Mistyped("integers become pointers into more than one region")
        for number in self.types.intruded:
            if number not in wild:
                raise Mistyped(f"integers become pointers into region {number}")
        once = executed_once(self.program)
        single = {n for n, edges in self._allocs.items() if len(edges) == 1 and edges[0].index in once}
        single.update(n for n in range(len(regions)) if n not in self._allocs)
        single.update(renewed(self.program, self.partition))
        for number in self.types.leaks:
            if regions[number].layout != "free" or (wild and number not in wild):
                raise Mistyped(f"numbers depend on the addresses of region {number}")
        for number in self.types.distances:
            if regions[number].layout != "free" and number not in single:
                raise Mistyped(f"the order of objects matters in region {number}")
        for one, other in self.types.equations:
            exact = regions[one.region].stride == 0 and one == other
            if regions[one.region].layout != "free" and one.region not in single and not exact:
                raise Mistyped(f"the distance of objects matters in region {one.region}")
        for number, region in enumerate(regions):
            if region.storage != "arrays":
                self._check_variables(number, region, single)

    def _check_variables(self, number: int, region: Region, single: set[int]) -> None:
        edges = self._allocs.get(number, [])
        if len(edges) != 1 or region.layout != "fixed":
            raise Mistyped(f"region {number} consists of variables but does not have exactly one object")
        alloc = edges[0].op
        assert isinstance(alloc, Alloc)
        for field in region.fields or ():
            if len(cell_offsets(region, field, alloc.size)) > CELLS:
                raise Mistyped(f"region {number} has more than {CELLS} cells")
        if region.storage == "globals":
            if number not in single:
                raise Mistyped(f"more than one object of region {number} may be in use")
            return
        procedure = self.program.procedures[edges[0].source.procedure]
        holders = [v for v, pointer in self.partition.carriers.items() if pointer.region == number]
        held = [p for r in self.partition.regions for p in _held(r) if p.region == number]
        if holders != [alloc.target] or held or alloc.target not in procedure.variables:
            raise Mistyped(f"{alloc.target.name} is not alone to hold the address of its object")
        if alloc.target in _written(self.program):
            raise Mistyped(f"{alloc.target.name} does not always hold the address of its object")

    def _check_names(self) -> None:
        """Check that lowering adds no variable whose name exists."""
        lowered = lower_memory(self.program, self.partition)
        names: dict[str, Expr] = {}
        for variable in _variables(lowered):
            if names.setdefault(variable.name, variable) is not variable:
                raise Mistyped(f"there would be two variables {variable.name}")
        before = list(_variables(self.program))
        added = sum(1 for _ in _variables(lowered)) - len(before)
        if len(names) - len({v.name for v in before}) != added:
            raise Mistyped("an added variable has the name of another")


def _held(region: Region) -> Iterator[Pointer]:
    for holds in (region.holds, *(field.holds for field in region.fields or ())):
        if holds is not None:
            yield holds


def _variables(program: Program) -> Iterator[Expr]:
    yield from program.globals
    for procedure in program.procedures.values():
        yield from procedure.variables


def _written(program: Program) -> frozenset[Expr]:
    """Return the variables that get values other than by `Alloc` or `Havoc`."""
    targets: list[Expr] = []
    for procedure in program.procedures.values():
        targets += (*procedure.parameters, *procedure.results)
        for edge in procedure.edges:
            if isinstance(edge.op, Assign | Call):
                targets += edge.op.targets
            elif isinstance(edge.op, Load | InspectBits):
                targets.append(edge.op.target)
    return frozenset(targets)

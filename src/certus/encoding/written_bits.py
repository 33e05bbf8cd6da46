"""The bits of memory that have been written, for `InspectBits` and `MarkBits`. Trusted.

Beside each cell of a region about which the program asks there is another one of the same sort, with a 1 for
each bit that has been written. It is read and written at the same places as the cell (`encoding.memory`).

A new object in arrays has arbitrary bits there: either its address was never used, or the bits become
arbitrary (`encoding.placement`), so one of the executions has zeros. That execution is the one of the
program; the others have more bits written, and violate nothing more. So a proof of the lowered program is a
proof of the program. An object whose contents count as written has ones, unless it shares its region with
others and is large, or gets an address again: then its bits are arbitrary, and a counterexample that relies
on them does not replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from certus.core import build
from certus.core.memory import Field, Pointer
from certus.core.program import Alloc, Assign, Assume, BasicOp, InspectBits, MarkBits, Store
from certus.core.terms import ArraySort, Expr, Kind, MachineSort, array, machine
from certus.encoding.addresses import cell_offsets

if TYPE_CHECKING:
    from certus.encoding.memory import CellObject, MemoryLowering


FILLED = 256  # the largest object, in bytes, that is filled by single stores


class Cells(Protocol):
    """Arrays and variables in the shape of a partition."""

    @property
    def objects(self) -> Mapping[int, CellObject]:
        """The objects that are kept in variables, by region."""
        ...

    def array(self, region: int, field: Field) -> Expr:
        """Return the array of a field."""
        ...

    def bytes(self, region: int) -> Expr:
        """Return the array of a region of bytes."""
        ...


class WrittenBits:
    """The added cells of one program."""

    def __init__(self, lowering: MemoryLowering) -> None:
        self._lowering = lowering
        edges = lowering.original.edge.values()
        asked = [lowering.types.of(e.op.address) for e in edges if isinstance(e.op, InspectBits)]
        self._regions = frozenset(pointer.region for pointer in asked if pointer is not None)
        allocs: dict[int, list[Alloc]] = {}
        for alloc in lowering.allocs() if self._regions else ():
            allocs.setdefault(lowering.allocated(alloc).region, []).append(alloc)
        self._full = {number for number, ops in allocs.items() if all(op.is_written for op in ops)}
        self.objects = {
            number: self._beside(each) for number, each in lowering.objects.items() if number in self._regions
        }

    def _beside(self, object_: CellObject) -> CellObject:
        cells = {
            offset: build.var(f"{cell.name}$written", cell.sort) for offset, cell in object_.cells.items()
        }
        if object_.scope is None:
            for cell in cells.values():
                self._lowering.declare(cell, None)
        return replace(object_, cells=cells)

    def local_cells(self, procedure: str) -> Iterator[Expr]:
        """Yield the cells that are local to a procedure."""
        for each in self.objects.values():
            if each.scope == procedure:
                yield from each.cells.values()

    # --------------------------------------------------------------------------------- the arrays

    def array(self, region: int, field: Field) -> Expr:
        """Return the array of a field."""
        return self._memory(f"mem${region}${field.offset}$written", field.width, region)

    def bytes(self, region: int) -> Expr:
        """Return the array of a region of bytes."""
        return self._memory(f"mem${region}$written", 1, region)

    def arrays(self, number: int) -> list[Expr]:
        """Return the arrays of a region."""
        if number not in self._regions or number in self.objects:
            return []
        fields = self._lowering.partition.regions[number].fields
        return [self.bytes(number)] if fields is None else [self.array(number, field) for field in fields]

    def _memory(self, name: str, width: int, region: int) -> Expr:
        address, sort = self._lowering.address, machine(8 * width, signed=False)
        memory = build.var(name, array(address, sort))
        initial = build.const_array(address, _ones(sort)) if region in self._full else None
        self._lowering.declare(memory, initial)
        return memory

    # ----------------------------------------------------------------------------- the operations

    def inspected(self, op: InspectBits) -> BasicOp:
        """Return the answer to a question; about no object it is arbitrary."""
        return self._lowering.load(op, self)

    def marked(self, op: MarkBits) -> BasicOp:
        """Return what replaces a note."""
        pairs = self._put(op.address, op.bits)
        return Assign(tuple(x for x, _ in pairs), tuple(v for _, v in pairs)) if pairs else Assume(build.TRUE)

    def stored(self, op: Store) -> list[tuple[Expr, Expr]]:
        """Return what a store assigns: all its bits are written."""
        sort = op.value.sort
        assert isinstance(sort, MachineSort)
        return self._put(op.address, _ones(machine(sort.width, signed=False)))

    def _put(self, address: Expr, bits: Expr) -> list[tuple[Expr, Expr]]:
        pointer = self._lowering.types.of(address)
        if pointer is None or pointer.region not in self._regions:
            return []
        op = self._lowering.store(Store(address, bits), self)
        return list(zip(op.targets, op.values, strict=True)) if isinstance(op, Assign) else []

    def begun(self, op: Alloc) -> list[BasicOp]:
        """Return what follows the allocation of an object."""
        pointer = self._lowering.allocated(op) if self._regions else None
        if pointer is None or pointer.region not in self._regions:
            return []
        if pointer.region in self.objects:
            cells = tuple(self.objects[pointer.region].cells.values())
            bits = (_ones(cell.sort) if op.is_written else build.constant(0, cell.sort) for cell in cells)
            return [Assign(cells, tuple(bits))] if cells else []
        written = op.is_written and pointer.region not in self._full
        return filled(self._lowering, op, pointer, self, ones=True) if written else []


def _ones(sort: object) -> Expr:
    assert isinstance(sort, MachineSort)
    return build.constant(sort.high, sort)


def filled(
    lowering: MemoryLowering, op: Alloc, pointer: Pointer, cells: Cells, *, ones: bool = False
) -> list[BasicOp]:
    """Return the statement that stores zeros, or ones, into all `cells` of a new object; none if it is
    large."""
    region, number = lowering.region_of(pointer), pointer.region
    if op.size.kind is not Kind.CONST or op.size.value > FILLED:
        return []
    index = lowering.terms.machine(op.target)
    offsets: dict[Expr, Iterable[int]] = {}
    if region.fields is None:
        offsets[cells.bytes(number)] = range(int(op.size.value))
    for field in region.fields or ():
        starts = cell_offsets(region, field, op.size)
        offsets[cells.array(number, field)] = [at - field.offset for at in starts]
    after: dict[Expr, Expr] = {}
    for memory, places in offsets.items():
        assert isinstance(memory.sort, ArraySort)
        value = _ones(memory.sort.element) if ones else build.constant(0, memory.sort.element)
        after[memory] = memory
        for offset in places:
            after[memory] = build.store(after[memory], lowering.at(index, offset), value)
    return [Assign(tuple(after), tuple(after.values()))] if after else []

"""The twins of memory: for each cell that holds an address, the start of the object that it was derived from.

A twin array beside the array of a field, a twin variable beside the variable of a cell, and for a region of
bytes an array by the address of the word (see `encoding.provenance`). Trusted.

The twins in a new object are 0: what it contains was derived from no object until an address is stored there.
Arrays of twins start with zeros; twins in variables are 0 at the allocation. Where an address is used again
(`encoding.placement`), the twins are arbitrary, as the contents are.
So an undetermined value, or null, in memory is never taken for a pointer that tracks an object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.memory import Field, Pointer
from certus.core.program import Alloc, Assign, Load, Procedure, Store
from certus.core.terms import Expr, MachineSort, array
from certus.encoding.tracking import Held

if TYPE_CHECKING:
    from certus.encoding.memory import CellObject, MemoryLowering


class TwinMemory:
    """The twins of the memory of one program."""

    def __init__(self, lowering: MemoryLowering) -> None:
        self.lowering = lowering
        self._sort = array(lowering.address, lowering.address)
        self._objects = {number: self._cells(each) for number, each in lowering.objects.items()}

    def local_cells(self, procedure: str) -> Iterator[Expr]:
        """Yield the twins of cells that are local to a procedure."""
        for each in self._objects.values():
            if each.scope == procedure:
                yield from each.cells.values()

    def fresh(self, region: int) -> tuple[Expr, ...]:
        """Return the twins of the cells of an object that is kept in variables."""
        return tuple(self._objects[region].cells.values())

    def loaded(self, op: Load) -> list[tuple[Expr, Expr]]:
        """Return what a load assigns to the twin of its target."""
        twin, pointer = self.lowering.provenance.twin(op.target), self.lowering.types.of(op.address)
        if twin is None:
            return []
        assert isinstance(op.target.sort, MachineSort)
        field = None if pointer is None else self.lowering.types.field(pointer, op.target.sort.width // 8)
        if pointer is not None and self._word_has_twin(pointer):
            at, loaded = (
                self.lowering.terms.machine(self.lowering.anchored(op.address)),
                self.lowering.load(op),
            )
            assert isinstance(loaded, Assign)
            start = build.select(self._twin_bytes(pointer), at)
            return [
                (
                    twin,
                    self.lowering.provenance.near(build.wrap(loaded.values[0], self.lowering.address), start),
                )
            ]
        if pointer is None or field is None or not self._has_twin(field):
            return [(twin, self.lowering.provenance.none)]
        if pointer.region in self.lowering.objects:
            return [(twin, self.lowering.read(self._objects[pointer.region], field, pointer, op.address))]
        return [
            (twin, build.select(self._twin_array(pointer, field), self.lowering.index(op.address, pointer)))
        ]

    def stored(self, op: Store) -> list[tuple[Expr, Expr]]:
        """Return what a store assigns to the twins of memory."""
        pointer = self.lowering.types.of(op.address)
        assert isinstance(op.value.sort, MachineSort)
        field = None if pointer is None else self.lowering.types.field(pointer, op.value.sort.width // 8)
        start = self.lowering.provenance.start(op.value)
        if pointer is not None and self._word_has_twin(pointer):
            if op.value.sort.width != self.lowering.partition.bits:
                return []  # of a word that is written in part the twin may be wrong: `loaded` compares
            words = self._twin_bytes(pointer)
            at = self.lowering.terms.machine(self.lowering.anchored(op.address))
            return [(words, build.store(words, at, start))]
        if pointer is None or field is None or not self._has_twin(field):
            return []
        if pointer.region in self.lowering.objects:
            written = self.lowering.write(self._objects[pointer.region], field, pointer, op.address, start)
            return list(zip(written.targets, written.values, strict=True))
        memory = self._twin_array(pointer, field)
        return [(memory, build.store(memory, self.lowering.index(op.address, pointer), start))]

    def contents_of(self, number: int, field: Field, start: Expr | None) -> tuple[Expr, Expr | None] | None:
        """Return the contents of a field of an object in a region of stride 0, and their twin."""
        if number in self.lowering.objects:
            object_, twins = self.lowering.objects[number], self._objects[number]
            return object_.cells[field.offset], twins.cells.get(field.offset)
        pointer = Pointer(number, field.offset)
        at = build.constant(self.lowering.partition.base, self.lowering.address) if start is None else start
        if start is None and self.lowering.region_of(pointer).layout != "fixed":
            return None
        twin = build.select(self._twin_array(pointer, field), at) if self._has_twin(field) else None
        return build.select(self.lowering.array(number, field), at), twin

    def rooted(self, procedure: Procedure) -> Iterator[tuple[Held, Expr]]:
        """Yield the addresses in objects that are kept in variables a procedure can name, each with the
        condition that its object is live."""
        for edge in self.lowering.original.edge.values():
            if not isinstance(edge.op, Alloc) or edge.op.storage == "heap":
                continue
            number = self.lowering.allocated(edge.op).region
            object_, region = self.lowering.objects.get(number), self.lowering.partition.regions[number]
            known = edge.index in self.lowering.once or edge.source.procedure == procedure.name
            if object_ is None or object_.scope not in (None, procedure.name) or not known:
                continue
            for offset, cell in object_.cells.items():
                place = offset % region.stride if region.stride else offset
                for field in region.fields or ():
                    if field.offset == place and field.holds is not None:
                        held = (field.holds, cell, self._objects[number].cells.get(offset))
                        yield held, self.lowering.lifetimes.live(number)

    def arrays(self, number: int) -> list[Expr]:
        """Return the twins of the arrays of a region."""
        fields, pointer = self.lowering.partition.regions[number].fields, Pointer(number, 0)
        if fields is None:
            return [self._twin_bytes(pointer)] if self._word_has_twin(pointer) else []
        return [self._twin_array(pointer, field) for field in fields if self._has_twin(field)]

    def _has_twin(self, field: Field) -> bool:
        return field.holds is not None and field.holds.region in self.lowering.provenance.regions

    def _word_has_twin(self, pointer: Pointer) -> bool:
        """Return whether the addresses in a region of bytes have twins, by the address of their word."""
        region = self.lowering.region_of(pointer)
        return (
            region.fields is None
            and region.holds is not None
            and region.holds.region in self.lowering.provenance.regions
        )

    def _twin_bytes(self, pointer: Pointer) -> Expr:
        return self._twins(f"mem${pointer.region}$base")

    def _twin_array(self, pointer: Pointer, field: Field) -> Expr:
        return self._twins(f"mem${pointer.region}${field.offset}$base")

    def _twins(self, name: str) -> Expr:
        """Return an array of twins that are 0 at the start."""
        twins = build.var(name, self._sort)
        self.lowering.declare(twins, build.const_array(self.lowering.address, self.lowering.provenance.none))
        return twins

    def _cells(self, object_: CellObject) -> CellObject:
        """Return the twins of the cells of an object that hold addresses."""
        region = self.lowering.region_of(self.lowering.partition.carriers[object_.base])
        stride = region.stride
        held = {each.offset for each in region.fields or () if self._has_twin(each)}
        cells = {
            offset: build.var(f"{cell.name}$base", self.lowering.address)
            for offset, cell in object_.cells.items()
            if (offset % stride if stride else offset) in held
        }
        if object_.scope is None:
            for cell in cells.values():
                self.lowering.declare(cell, None)
        return replace(object_, cells=cells)

"""Which scalars memory consists of: the cells of a type, and the objects that pointers certainly lead to.

Cells never change what an access means: memory is bytes, and reading a record cell by cell is reading its
bytes. They only keep accesses to one object alike, so that its memory falls apart into typed regions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.operands import Expression, Integer, Local, Operand, Symbol
from certus.frontend.c.ir.text import NotUnderstood
from certus.frontend.c.ir.types import ArrayType, Layout, StructType, Type, VectorType
from certus.frontend.c.model.terms import Cell

UNROLLED: Final = 64  # an object of more cells is copied by a loop


@dataclass(frozen=True, slots=True)
class Root:
    """A pointer leads to `offset` in an object of this type."""

    type: Type
    offset: int


def scalars(layout: Layout, type_: Type, limit: int) -> list[Cell] | None:
    """Return the scalars of a type in order, without padding; None if there are more than `limit`."""
    found: list[Cell] = []
    stack: list[tuple[int, Type]] = [(0, type_)]
    while stack:
        offset, part = stack.pop()
        if len(found) + len(stack) > limit + 1:
            return None
        if isinstance(part, ArrayType):
            if part.count > limit:
                return None
            size = layout.size(part.element)
            stack += [(offset + i * size, part.element) for i in reversed(range(part.count))]
        elif isinstance(part, StructType):
            stack += [
                (offset + at, field)
                for field, at in reversed(list(zip(part.fields, layout.offsets(part), strict=True)))
            ]
        elif isinstance(part, VectorType):
            size = layout.size(part.element)
            stack += [(offset + i * size, part.element) for i in reversed(range(part.count))]
        else:
            found.append((offset, layout.store_size(part)))
    return found if len(found) <= limit else None


def element(layout: Layout, type_: Type) -> int:
    """Return the size of the scalars that an array is made of; 1 for other objects."""
    while isinstance(type_, ArrayType):
        type_ = type_.element
    return 1 if isinstance(type_, StructType) else layout.store_size(type_)


def words(start: int, end: int) -> Iterator[Cell]:
    """Yield a stretch of bytes as aligned words."""
    while start < end:
        size = next(size for size in (8, 4, 2, 1) if start % size == 0 and start + size <= end)
        yield start, size
        start += size


def simple(cells: list[Cell]) -> list[Cell]:
    """Return the cells with those of odd sizes (of `i24` or `x86_fp80`) split into words."""
    found: list[Cell] = []
    for offset, size in cells:
        found += [(offset, size)] if size in (1, 2, 4, 8, 16) else list(words(offset, offset + size))
    return found


def cells_between(layout: Layout, type_: Type, start: int, size: int) -> list[Cell] | None:
    """Return the cells of an object between two offsets, relative to the first, with padding in words; None
    if a scalar sticks out or there are too many."""
    scalar = scalars(layout, type_, UNROLLED) if layout.size(type_) else None
    if scalar is None:
        return _in_array(layout, type_, start, size)
    found: list[Cell] = []
    at, end = start, start + size
    for offset, width in simple(scalar):
        if offset + width <= start or offset >= end:
            continue
        if offset < start or offset + width > end:
            return None
        found += [(o - start, w) for o, w in words(at, offset)]
        found.append((offset - start, width))
        at = offset + width
    if at > layout.size(type_) and at < end:
        return None
    found += [(o - start, w) for o, w in words(at, end)]
    return found


def _in_array(layout: Layout, type_: Type, start: int, size: int) -> list[Cell] | None:
    """The same for a part of a large array or structure."""
    while True:
        if isinstance(type_, ArrayType):
            step = layout.size(type_.element)
            if step == 0 or (start % step) + size > step:
                return None
            type_, start = type_.element, start % step
        elif isinstance(type_, StructType):
            inside = [
                (field, start - at)
                for field, at in zip(type_.fields, layout.offsets(type_), strict=True)
                if at <= start and start + size <= at + layout.size(field)
            ]
            if not inside:
                return None
            type_, start = inside[-1]
        else:
            return None
        if scalars(layout, type_, UNROLLED) is not None:
            return cells_between(layout, type_, start, size)


class Roots:
    """The objects that pointers of one function lead to, where that can be seen."""

    def __init__(self, module: Module, definitions: Mapping[str, ir.Instruction]) -> None:
        self._module = module
        self._definitions = definitions
        self._known: dict[str, Root | None] = {}
        self._instead: dict[str, Type] = {}  # types of objects that only carry another one

    def declare(self, name: str, type_: Type) -> None:
        """A parameter points to an object of this type."""
        self._known[name] = Root(type_, 0)

    def carries(self, name: str, type_: Type) -> None:
        """An integer in memory only carries an object of this type."""
        self._instead[name] = type_

    def of(self, pointer: Operand) -> Root | None:
        """Return where a pointer leads, if that is known."""
        if isinstance(pointer, Local):
            return self._local(pointer.name)
        if isinstance(pointer, Symbol):
            variable = self._module.globals.get(pointer.name)
            return None if variable is None else self._sized(Root(variable.type, 0))
        if isinstance(pointer, Expression) and pointer.operation == "getelementptr":
            assert pointer.source is not None
            return self._indexed(pointer.source, pointer.operands[0], pointer.operands[1:])
        return None

    def _local(self, name: str) -> Root | None:
        if name not in self._known:
            self._known[name] = None  # until it is known
            self._known[name] = self._defined(name)
        return self._known[name]

    def _defined(self, name: str) -> Root | None:
        made = self._definitions.get(name)
        if isinstance(made, ir.Alloca):
            type_ = self._instead.get(name, made.type)
            return Root(type_, 0) if made.count is None else self._sized(Root(made.type, 0))
        if isinstance(made, ir.GetElementPointer):
            return self._indexed(made.source, made.base, made.indices)
        return None

    def _sized(self, root: Root) -> Root | None:
        try:
            self._module.layout.size(root.type)
        except NotUnderstood:
            return None
        return root

    def _indexed(self, source: Type, base: Operand, indices: list[Operand]) -> Root | None:
        """A constant way into an object that is known, or else what the types of the way say."""
        layout = self._module.layout
        outer = self.of(base)
        offset = constant_offset(layout, source, indices)
        if outer is not None and offset is not None:
            return Root(outer.type, outer.offset + offset)
        type_, inside = source, 0
        last = source
        for number, index in enumerate(indices):
            if number == 0:
                continue
            if isinstance(type_, StructType) and isinstance(index, Integer):
                inside += layout.offsets(type_)[index.value]
                type_ = type_.fields[index.value]
            elif isinstance(type_, ArrayType):
                type_ = type_.element
                last, inside = type_, 0
            else:
                return None
        return self._sized(Root(last, inside))


def constant_offset(layout: Layout, source: Type, indices: list[Operand]) -> int | None:
    """Return the distance in bytes that constant indices mean."""
    total, type_ = 0, source
    for number, index in enumerate(indices):
        if not isinstance(index, Integer):
            return None
        if number == 0:
            total += index.value * layout.size(type_)
        elif isinstance(type_, StructType):
            total += layout.offsets(type_)[index.value]
            type_ = type_.fields[index.value]
        elif isinstance(type_, ArrayType | VectorType):
            type_ = type_.element
            total += index.value * layout.size(type_)
        else:
            return None
    return total

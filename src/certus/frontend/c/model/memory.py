"""Loads, stores, copies and fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Alloc, Call, Load, Store
from certus.core.sorts import BOOL, INT, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Local, Operand, Symbol
from certus.frontend.c.ir.types import (
    ArrayType,
    FloatType,
    IntegerType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from certus.frontend.c.model.cells import UNROLLED, Root, cells_between, element, scalars, simple, words
from certus.frontend.c.model.hints import value_is_signed
from certus.frontend.c.model.operands import address_of, value_of
from certus.frontend.c.model.terms import (
    U8,
    Cell,
    Lanes,
    Piece,
    Pieces,
    Value,
    as_sort,
    low_bit,
    no_value,
    repeated,
    stored_bits,
    taken,
)

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


_LOOPS: Final = (1, 2, 4, 8)  # sizes of the elements that models in C copy and fill


def variable_at(body: Body, pointer: Operand, type_: Type) -> Expr | None:
    """Return the variable that an access of this type is an access to, if there is one."""
    if isinstance(pointer, Local):
        slot = body.births.slots.get(pointer.name) if body.function is not None else None
        if slot is not None:
            return slot.variable
        pointer = body.unit.thread_local_symbol(body, pointer) or pointer
    if isinstance(pointer, Symbol):
        return body.unit.scalar(body.module, pointer.name)
    return None


def load(body: Body, instruction: ir.Load) -> None:
    variable = variable_at(body, instruction.pointer, instruction.type)
    if variable is not None:
        body.define(instruction, variable)
        return
    if instruction.volatile and body.unit.changes_by_itself(body, instruction.pointer):
        body.define(instruction, _any(body, instruction))
        return
    address = address_of(body, instruction.pointer)
    root = body.roots.of(instruction.pointer)
    signed = None if instruction.name is None else value_is_signed(body, instruction.name)
    body.define(instruction, read(body, address, instruction.type, root, signed=signed))


def _any(body: Body, instruction: ir.Load) -> Value:
    """A volatile variable from outside has another value each time."""
    type_ = instruction.type
    if not isinstance(type_, IntegerType | PointerType):
        raise no_value(type_)
    signed = bool(instruction.name is not None and value_is_signed(body, instruction.name))
    made = body.havoc(machine(8 * body.layout.store_size(type_), signed=signed))
    return loaded(made, type_)


def loaded(term: Expr, type_: Type) -> Expr:
    """Return what was loaded as a value of its type."""
    if isinstance(type_, PointerType):
        return build.to_int(term)
    assert isinstance(type_, IntegerType)
    if type_.bits == 1:
        return low_bit(term)
    return build.wrap(term, machine(type_.bits, signed=term.sort is not INT and _is_signed(term)))


def _is_signed(term: Expr) -> bool:
    return bool(getattr(term.sort, "signed", False))


def read(body: Body, address: Expr, type_: Type, root: Root | None, *, signed: bool | None = None) -> Value:
    """Load a value of a type: a scalar in one step, if it is a scalar of its object too."""
    layout = body.layout
    size = layout.store_size(type_)
    if isinstance(type_, VectorType):
        return _read_vector(body, address, type_)
    if isinstance(type_, StructType | ArrayType):
        cells = None if root is None else cells_between(layout, root.type, root.offset, size)
        if cells is None:
            cells = scalars(layout, type_, UNROLLED)
        if cells is None:
            raise no_value(type_)
        return read_cells(body, address, simple(cells), size)
    if isinstance(type_, FloatType):
        raise no_value(type_)
    cells = None if root is None else cells_between(layout, root.type, root.offset, size)
    if cells is not None and len(cells) > 1:
        return read_cells(body, address, cells, size)
    if signed is None:
        signed = isinstance(type_, IntegerType) and type_.bits == 32
    made = body.fresh(machine(8 * size, signed=signed and not isinstance(type_, PointerType)))
    body.emit(Load(made, address))
    return loaded(made, type_)


def _read_vector(body: Body, address: Expr, type_: VectorType) -> Value:
    step = body.layout.size(type_.element)
    parts = []
    for index in range(type_.count):
        part = read(body, build.add(address, build.integer(index * step)), type_.element, None)
        parts.append(body.scalar(part))
    return Lanes(tuple(parts))


def read_cells(body: Body, address: Expr, cells: Sequence[Cell], size: int) -> Pieces:
    """Load some cells of an object."""
    parts = []
    for offset, width in cells:
        made = body.fresh(machine(8 * width, signed=False))
        body.emit(Load(made, build.add(address, build.integer(offset))))
        parts.append(Piece(offset, width, made))
    return Pieces(size, tuple(parts))


def store(body: Body, instruction: ir.Store) -> None:
    operand = instruction.value
    value = value_of(body, operand)
    variable = variable_at(body, instruction.pointer, operand.type)
    if variable is not None:
        term = body.scalar(value)
        single = isinstance(operand, Local) and body.flow.only_use(operand.name) is instruction
        name = operand.name if isinstance(operand, Local) and isinstance(value, Expr) else None
        body.spare(term if single else None)
        body.assign(variable, as_sort(term, variable.sort), name)
        body.spare(None)
        return
    address = address_of(body, instruction.pointer)
    write(body, address, value, operand.type, body.roots.of(instruction.pointer))


def write(body: Body, address: Expr, value: Value, type_: Type, root: Root | None) -> None:
    """Store a value: cell by cell, if its object has other cells than the type of the access."""
    layout = body.layout
    size = layout.store_size(type_)
    if isinstance(value, Lanes):
        assert isinstance(type_, VectorType)
        step = layout.size(type_.element)
        for index, part in enumerate(value.parts):
            write(body, build.add(address, build.integer(index * step)), part, type_.element, None)
        return
    cells = None if root is None else cells_between(layout, root.type, root.offset, size)
    if cells is not None and len(cells) == 1 and not isinstance(type_, StructType | ArrayType):
        cells = None
    if cells is None and isinstance(value, Pieces):
        cells = [(p.offset, p.size) for p in value.parts]
        _write_parts(body, address, [p.term for p in value.parts], cells)
        return
    if cells is not None:
        _write_parts(body, address, taken(value, cells, body.unset), cells)
        return
    assert isinstance(value, Expr)
    if isinstance(type_, FloatType):
        raise no_value(type_)
    body.emit(Store(address, stored_bits(value, size)))


def _write_parts(body: Body, address: Expr, terms: Sequence[Expr], cells: Sequence[Cell]) -> None:
    for (offset, size), term in zip(cells, terms, strict=True):
        body.emit(Store(build.add(address, build.integer(offset)), stored_bits(term, size)))


# ----------------------------------------------------------------------------------------- copies


def cells_of_copy(
    body: Body, size: int, pointers: Sequence[Operand], members: int | None
) -> list[Cell] | None:
    """Return the cells of `size` bytes that are copied or filled: as the metadata of a copy of a record tells
    (`members`), or as the type of one of the objects does. None if they are not known, or too many."""
    for pointer in pointers:
        root = body.roots.of(pointer)
        if root is not None:
            cells = cells_between(body.layout, root.type, root.offset, size)
            if cells is not None:
                return cells
    if members is None:
        return None
    found: list[Cell] = []
    at = 0
    for offset, width in sorted(set(body.unit.copied_members(body.module, members))):
        if offset < at:
            return list(words(0, size)) if size <= 8 * UNROLLED else None  # a union: nothing is known
        found += [*words(at, offset), *simple([(offset, width)])]
        at = offset + width
    found += words(at, size)
    return found if len(found) <= 2 * UNROLLED else None


def copy(
    body: Body,
    to: Operand,
    source: Operand,
    count: Expr,
    *,
    overlapping: bool,
    members: int | None = None,
) -> None:
    """Copy `count` bytes (an integer term): all is read, then all is written, or by a loop."""
    target, origin = address_of(body, to), address_of(body, source)
    if target is origin:
        return
    width, number = 1, as_sort(count, INT)
    if count.kind is Kind.CONST:
        size = int(number.value)
        cells = cells_of_copy(body, size, (to, source), members)
        if cells is not None:
            copy_cells(body, target, origin, cells, size)
            return
        width = _elements(body, (to, source))
        width = width if size % width == 0 and width in _LOOPS else 1
        number = build.integer(size // width)
    copy_loop(body, target, origin, number, width, overlapping=overlapping)


def _elements(body: Body, pointers: Sequence[Operand]) -> int:
    """The size of the elements of the arrays that pointers lead into; 1 if they differ or are not known."""
    widths = set()
    for pointer in pointers:
        root = body.roots.of(pointer)
        hint = None if root is None else element(body.layout, root.type)
        widths.add(hint or body.unit.pointed_size(body, pointer) or 1)
    return widths.pop() if len(widths) == 1 else 1


def copy_cells(body: Body, target: Expr, origin: Expr, cells: Sequence[Cell], size: int) -> None:
    """Copy an object cell by cell."""
    parts = read_cells(body, origin, cells, size)
    _write_parts(body, target, [p.term for p in parts.parts], cells)


def copy_loop(body: Body, target: Expr, origin: Expr, number: Expr, width: int, *, overlapping: bool) -> None:
    """Copy elements of `width` bytes by a loop."""
    run_model(body, f"__certus_{'move' if overlapping else 'copy'}{width}", (target, origin, number))


def run_model(body: Body, name: str, terms: Sequence[Expr]) -> Expr | None:
    """Call a function of the library's models in C; return its result."""
    callee = body.unit.model(name)
    body.before_call()
    passed = tuple(as_sort(t, p.sort) for t, p in zip(terms, callee.parameters, strict=True))
    made = tuple(body.fresh(v.sort) for v in callee.results)
    body.emit(Call(callee.name, passed, made))
    return made[0] if made else None


def fill(body: Body, to: Operand, byte: Expr, count: Expr) -> None:
    """Set `count` bytes."""
    target = address_of(body, to)
    byte = as_sort(byte, U8) if byte.sort is not BOOL else byte
    number, width = as_sort(count, INT), 1
    if count.kind is Kind.CONST:
        size = int(number.value)
        cells = cells_of_copy(body, size, (to,), None)
        if cells is not None:
            fill_cells(body, target, byte, cells)
            return
        width = _elements(body, (to,))
        width = width if size % width == 0 and width in _LOOPS else 1
        number = build.integer(size // width)
    run_model(body, f"__certus_fill{width}", (target, repeated(byte, width), number))


def fill_loop(body: Body, target: Expr, byte: Expr, number: int, width: int) -> None:
    """Set elements of `width` bytes by a loop."""
    run_model(body, f"__certus_fill{width}", (target, repeated(byte, width), build.integer(number)))


def fill_cells(body: Body, target: Expr, byte: Expr, cells: Sequence[Cell]) -> None:
    for offset, size in cells:
        body.emit(Store(build.add(target, build.integer(offset)), repeated(byte, size)))


def copy_object(body: Body, to: Expr, source: Expr, type_: Type) -> None:
    """Copy a whole object of a type."""
    size = body.layout.size(type_)
    cells = cells_between(body.layout, type_, 0, size)
    if cells is not None:
        copy_cells(body, to, source, cells, size)
    else:
        width = element(body.layout, type_)
        width = width if width in _LOOPS else 1
        copy_loop(body, to, source, build.integer(size // width), width, overlapping=False)


def copied_object(body: Body, address: Expr, type_: Type, align: int) -> Expr:
    """Make a copy of an object for a function that is called (`byval`); return its address."""
    base = body.local("$&argument", INT)
    size, align = body.layout.size(type_), max(align, body.layout.align(type_))
    body.emit(Alloc(base, build.integer(size), align, "stack", "argument"), text="begin of an argument")
    copy_object(body, base, address, type_)
    return base

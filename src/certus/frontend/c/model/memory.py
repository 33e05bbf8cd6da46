"""Loads, stores, copies and fills: all accesses to memory except those of the library models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Alloc, Call, Load, Store
from certus.core.terms import INT, Expr, Kind, machine
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir import types
from certus.frontend.c.ir.instructions import Local, Operand
from certus.frontend.c.model import cells as layouts
from certus.frontend.c.model import terms
from certus.frontend.c.model.cells import UNROLLED, Root, cells_at, cells_between
from certus.frontend.c.model.checks import check, check_constant, is_checked, is_valid
from certus.frontend.c.model.operands import address_of, value_is_signed, value_of, variable_at
from certus.frontend.c.model.terms import Cell, Lanes, Piece, Pieces, Value, as_sort

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def at(address: Expr, offset: int) -> Expr:
    """Return the address `offset` bytes behind another."""
    return build.add(address, build.integer(offset))


# ---------------------------------------------------------------------------------------- loads


def load(body: Body, instruction: ir.Load) -> Value:
    """Lower `load`. A volatile variable from outside has another value each time."""
    pointer, type_ = instruction.pointer, instruction.type
    variable = variable_at(body, pointer)
    if variable is not None:
        if body.initialisation is not None:
            body.initialisation.read_variable(instruction)
        return variable
    signed = None if instruction.name is None else value_is_signed(body, instruction.name)
    size = body.layout.store_size(type_)
    if instruction.volatile and body.unit.symbols.changes_by_itself(body, pointer):
        if not terms.is_scalar(type_):
            raise terms.no_value(type_)
        if is_checked(body, "read"):
            check(body, address_of(body, pointer), size, "read")
        return _loaded(body.havoc(machine(8 * size, signed=bool(signed))), type_)
    address = address_of(body, pointer)
    if (instruction.name or "").startswith("bf.load") and is_checked(body, "read"):
        field = _read_field(body, instruction, address, size)
        if field is not None:
            return _loaded(field, type_)
    check(body, address, size, "read")
    value = read(body, address, type_, body.roots.of(pointer), signed=signed)
    if body.initialisation is not None:
        body.initialisation.check_load(instruction, value)
    return value


def _emit_load(body: Body, target: Expr, address: Expr) -> None:
    if body.initialisation is not None:
        body.initialisation.ask(address, terms.machine_sort(target).width // 8)
    body.emit(Load(target, address))


def _read_field(body: Body, load: ir.Load, address: Expr, size: int) -> Expr | None:
    """Load only the bytes of a bit-field; return the unit of `size` bytes that it is stored in. None if the
    whole unit is valid or needed."""
    from certus.frontend.c.model import bit_fields

    field = bit_fields.read_bytes(body, load)
    if field is None or is_valid(body, address, build.integer(size), "write"):
        return None
    (first, count), access = field
    check(body, at(address, first), count, access)
    bits = body.fresh(machine(8 * count, signed=False))
    _emit_load(body, bits, at(address, first))
    if body.initialisation is not None:
        body.initialisation.check_load(load, bits, first)
    unit = machine(8 * size, signed=False)
    return build.shl(build.wrap(bits, unit), build.constant(8 * first, unit))


def _loaded(bits: Expr, type_: types.Type) -> Expr:
    """Convert the bits of a scalar in memory to a value of its type."""
    if isinstance(type_, types.PointerType):
        return build.to_int(bits)
    if isinstance(type_, types.FloatType):
        return as_sort(bits, terms.sort_of(type_))
    assert isinstance(type_, types.IntegerType)
    if type_.bits == 1:
        return terms.low_bit(bits)
    return build.wrap(bits, machine(type_.bits, signed=terms.machine_sort(bits).signed))


def read(
    body: Body, address: Expr, type_: types.Type, root: Root | None, *, signed: bool | None = None
) -> Value:
    """Load a value of a type: in one step, if it is also a scalar of its object."""
    if isinstance(type_, types.VectorType):
        step = layouts.element_step(body.layout, type_)
        lanes = [read(body, at(address, i * step), type_.element, None) for i in range(type_.count)]
        return Lanes(tuple(body.scalar(lane) for lane in lanes))
    size, cells = _cells_of_access(body, type_, root)
    if isinstance(type_, types.StructType | types.ArrayType):
        cells = cells if cells is not None else layouts.scalars(body.layout, type_)
        if cells is None:
            raise terms.no_value(type_)
    elif cells is None or len(cells) < 2:
        if signed is None:
            signed = isinstance(type_, types.IntegerType) and type_.bits == 32
        bits = body.fresh(machine(8 * size, signed=signed and not isinstance(type_, types.PointerType)))
        _emit_load(body, bits, address)
        return _loaded(bits, type_)
    value = read_cells(body, address, cells, size)
    return as_sort(body.scalar(value), terms.sort_of(type_)) if isinstance(type_, types.FloatType) else value


def _cells_of_access(body: Body, type_: types.Type, root: Root | None) -> tuple[int, list[Cell] | None]:
    """Return the size of a type, and the cells at a root by which its values are loaded and stored, if they
    are known. A pointer is accessed in one step, whatever the cells of its object are (a union): put together
    from parts, it would be derived from no object."""
    size = body.layout.store_size(type_)
    cells = None if isinstance(type_, types.PointerType) else cells_at(body.layout, root, size)
    if isinstance(type_, types.FloatType):  # 80 bits may be two cells
        cells = cells or layouts.simple([(0, size)])
    return size, cells


def read_cells(body: Body, address: Expr, cells: Sequence[Cell], size: int) -> Pieces:
    """Load some cells of an object of `size` bytes."""
    parts = []
    for offset, width in cells:
        bits = body.fresh(machine(8 * width, signed=False))
        _emit_load(body, bits, at(address, offset))
        parts.append(Piece(offset, width, bits))
    return Pieces(size, tuple(parts))


# --------------------------------------------------------------------------------------- stores


def store(body: Body, instruction: ir.Store) -> None:
    """Lower `store`."""
    operand = instruction.value
    value = value_of(body, operand)
    variable = variable_at(body, instruction.pointer)
    if variable is None:
        address = address_of(body, instruction.pointer)
        size = body.layout.store_size(operand.type)
        named = isinstance(operand, Local) and operand.name.startswith("bf.")
        if named and is_checked(body, "write") and _write_field(body, instruction, address, value, size):
            return
        check(body, address, size, "write")
        write(body, address, value, operand.type, body.roots.of(instruction.pointer))
        if body.initialisation is not None:
            body.initialisation.check_store(instruction, address, size)
        return
    check_constant(body, instruction.pointer, body.layout.store_size(operand.type))
    term = body.scalar(value)
    name = operand.name if isinstance(operand, Local) else ""
    spare = term if body.flow.only_use(name) is instruction else None
    body.registers.assign(variable, as_sort(term, variable.sort), name, spare=spare)
    if body.initialisation is not None and isinstance(instruction.pointer, Local):
        body.initialisation.note(instruction.pointer.name, written=True)


def _write_field(body: Body, store: ir.Store, address: Expr, value: Value, size: int) -> bool:
    """Store only the bytes of a bit-field; return false if the whole unit is valid or needed."""
    from certus.frontend.c.model import bit_fields

    field = bit_fields.written_bytes(body, store)
    if field is None or is_valid(body, address, build.integer(size), "write"):
        return False
    (first, count), access = field
    unit = terms.unsigned(terms.stored_bits(body.scalar(value), size))
    bits = build.shr(unit, build.constant(8 * first, unit.sort))
    if access == "read":
        check(body, at(address, first), count, "write")
    body.emit(Store(at(address, first), build.wrap(bits, machine(8 * count, signed=False))))
    if body.initialisation is not None:
        body.initialisation.check_store(store, at(address, first), count, first)
    return True


def write(body: Body, address: Expr, value: Value, type_: types.Type, root: Root | None) -> None:
    """Store a value: cell by cell, if the cells of its object differ from the type of the access."""
    if isinstance(value, Lanes):
        assert isinstance(type_, types.VectorType)
        step = layouts.element_step(body.layout, type_)
        for index, part in enumerate(value.parts):
            write(body, at(address, index * step), part, type_.element, None)
        return
    size, cells = _cells_of_access(body, type_, root)
    if cells is not None and (len(cells) != 1 or isinstance(type_, types.StructType | types.ArrayType)):
        _write_cells(body, address, terms.taken(value, cells, body.unset), cells)
    elif isinstance(value, Pieces):
        _write_cells(body, address, terms.terms_in(value), [(p.offset, p.size) for p in value.parts])
    else:
        body.emit(Store(address, terms.stored_bits(value, size)))


def _write_cells(body: Body, address: Expr, values: Sequence[Expr], cells: Sequence[Cell]) -> None:
    """Store values into some cells of an object."""
    for (offset, size), value in zip(cells, values, strict=True):
        body.emit(Store(at(address, offset), terms.stored_bits(value, size)))


# ----------------------------------------------------------------------------- copies and fills


def copy(
    body: Body, to: Operand, source: Operand, count: Expr, *, overlapping: bool, members: int | None = None
) -> None:
    """Copy `count` bytes: read all of them and then write them, or run a loop."""
    target, origin, size = address_of(body, to), address_of(body, source), as_sort(count, INT)
    check(body, target, size, "write")
    check(body, origin, size, "read")
    if target is origin:
        return
    cells, number, width = _division(body, (to, source), count, members)
    if cells is not None:
        copy_cells(body, target, origin, cells, int(number.value))
    else:
        copy_loop(body, target, origin, number, width, overlapping=overlapping)


def fill(body: Body, to: Operand, byte: Expr, count: Expr) -> None:
    """Set `count` bytes."""
    target, byte = address_of(body, to), as_sort(byte, terms.U8)
    check(body, target, as_sort(count, INT), "write")
    cells, number, width = _division(body, (to,), count)
    if cells is None:
        fill_loop(body, target, byte, number, width)
    for offset, size in cells or ():
        body.emit(Store(at(target, offset), terms.repeated(byte, size)))


def _division(
    body: Body, pointers: Sequence[Operand], count: Expr, members: int | None = None
) -> tuple[list[Cell] | None, Expr, int]:
    """Divide `count` bytes at some pointers into cells or, if the cells are None, into a number of elements
    of a width for a loop."""
    number = as_sort(count, INT)
    if count.kind is not Kind.CONST:
        return None, number, 1
    size = int(number.value)
    cells = _cells_of(body, size, pointers, members)
    if cells is not None:
        return cells, number, 1
    widths = {element_size(body, pointer) for pointer in pointers}
    width = loop_width(widths.pop(), size) if len(widths) == 1 else 1
    return None, build.integer(size // width), width


def element_size(body: Body, pointer: Operand) -> int:
    """Return the size of the scalars of the array that a pointer leads to; 1 if it is not known."""
    root = body.roots.of(pointer)
    known = 0 if root is None else layouts.element(body.layout, root.type)
    return known or body.locals.pointed_size(pointer) or 1


def loop_width(width: int, size: int) -> int:
    """Return the size of the elements by which a loop copies or fills `size` bytes: `width`, if it divides
    the size."""
    return width if width in (1, 2, 4, 8) and size % width == 0 else 1


def _cells_of(body: Body, size: int, pointers: Sequence[Operand], members: int | None) -> list[Cell] | None:
    """Return the cells of `size` bytes that are copied or filled, from the type of one of the objects or from
    the metadata of a record copy (`members`). None if they are not known, or too many."""
    for pointer in pointers:
        cells = cells_at(body.layout, body.roots.of(pointer), size)
        if cells is not None:
            return cells
    if members is None:
        return None
    cells = sorted(set(body.module.debug.members(members)))
    if any(offset + width > after for (offset, width), (after, _) in pairwise(cells)):
        return list(layouts.words(0, size)) if size <= 8 * UNROLLED else None  # a union: nothing is known
    cells = sorted((*layouts.simple(cells), *layouts.gaps(cells, 0, size)))
    return cells if len(cells) <= 2 * UNROLLED else None


def copy_cells(body: Body, target: Expr, origin: Expr, cells: Sequence[Cell], size: int) -> None:
    """Copy an object cell by cell."""
    _write_cells(body, target, terms.terms_in(read_cells(body, origin, cells, size)), cells)
    if body.initialisation is not None:
        for (offset, _), bits in zip(cells, body.initialisation.take(), strict=True):
            body.initialisation.mark(at(target, offset), bits)


def copy_loop(body: Body, target: Expr, origin: Expr, number: Expr, width: int, *, overlapping: bool) -> None:
    """Copy elements of `width` bytes by a loop."""
    run_model(body, f"__certus_{'move' if overlapping else 'copy'}{width}", (target, origin, number))


def fill_loop(body: Body, target: Expr, byte: Expr, number: Expr, width: int) -> None:
    """Set elements of `width` bytes by a loop."""
    run_model(body, f"__certus_fill{width}", (target, terms.repeated(byte, width), number))


def run_model(body: Body, name: str, arguments: Sequence[Expr]) -> Expr | None:
    """Call a function of the library models in C; return its result."""
    callee = body.unit.model(name)
    body.registers.before_call()
    passed = tuple(as_sort(t, p.sort) for t, p in zip(arguments, callee.signature.parameters, strict=True))
    results = tuple(body.fresh(v.sort) for v in callee.signature.results)
    body.emit(Call(callee.name, passed, results))
    return results[0] if results else None


def copy_object(body: Body, to: Expr, source: Expr, type_: types.Type) -> None:
    """Copy a whole object of a type."""
    size = body.layout.size(type_)
    cells = cells_between(body.layout, type_, 0, size)
    if cells is not None:
        copy_cells(body, to, source, cells, size)
    else:
        width = loop_width(layouts.element(body.layout, type_), size)
        copy_loop(body, to, source, build.integer(size // width), width, overlapping=False)


def copied_object(body: Body, address: Expr, type_: types.Type, align: int) -> Expr:
    """Copy an object for a call that passes it by value (`byval`); return the address of the copy."""
    base = body.local("$&argument", INT)
    size, align = body.layout.size(type_), max(align, body.layout.align(type_))
    body.emit(Alloc(base, build.integer(size), align, "stack", "argument"), text="begin of an argument")
    body.extents[base] = size
    check(body, address, size, "read")
    copy_object(body, base, address, type_)
    return base

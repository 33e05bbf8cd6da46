"""Operands of instructions as values: results of other instructions, constants, addresses of symbols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import UNSPECIFIED, Assign
from certus.core.terms import INT, Expr, MachineSort, machine
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Binary, Compare, Convert, Store
from certus.frontend.c.ir.types import ArrayType, IntegerType, StructType, Type, VectorType
from certus.frontend.c.model import floats, terms
from certus.frontend.c.model.cells import path
from certus.frontend.c.model.terms import Lanes, Piece, Pieces, Unmodelled, Value, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_INDEXES: Final = ("idxprom", "idx.ext")  # Clang's names of indexes as wide as a pointer


def value_of(body: Body, operand: ir.Operand) -> Value:
    """Return the value of an operand; undefined values may take steps."""
    if isinstance(operand, ir.Local):
        value = body.registers.values.get(operand.name)
        if value is None:
            raise body.registers.refused.get(operand.name) or terms.no_value(operand.type)
        return value
    if isinstance(operand, ir.Integer):
        assert isinstance(operand.type, IntegerType)
        if operand.type.bits == 1:
            return build.boolean(operand.value != 0)
        sort = machine(operand.type.bits, signed=True)
        return build.constant(sort.wrap(operand.value), sort)
    if isinstance(operand, ir.Null):
        return terms.NULL
    if isinstance(operand, ir.Symbol):
        return body.unit.symbols.address(body.module, operand.name)
    if isinstance(operand, ir.Undefined | ir.Zero):
        return _filled(body, operand.type, zero=isinstance(operand, ir.Zero))
    if isinstance(operand, ir.Expression):
        return _expression(body, operand)
    if isinstance(operand, ir.Bytes):
        return _bytes(int.from_bytes(operand.data, "little"), len(operand.data))
    if isinstance(operand, ir.Aggregate):
        return _aggregate(body, operand)
    if isinstance(operand, ir.BlockAddress):
        return body.unit.symbols.label_address(body.module, operand.function, operand.label)
    assert isinstance(operand, ir.Float)
    return _float(body, operand)


def _float(body: Body, operand: ir.Float) -> Expr:
    """Return a floating-point constant. Compilers fold `0.0 / 0.0` to a NaN whose sign they choose."""
    format, term = floats.format_of(operand.type), floats.literal(operand)
    if int(term.value) == format.nan and body.function is not None and body.unit.sees_nans(body.module):
        return floats.opened(body, term, format, None)
    return term


def term_of(body: Body, operand: ir.Operand) -> Expr:
    """Return the value of an operand as one term."""
    return body.scalar(value_of(body, operand))


def address_of(body: Body, operand: ir.Operand) -> Expr:
    """Return the value of a pointer: an address."""
    return terms.as_sort(term_of(body, operand), INT)


# ------------------------------------------------------------------------------------ constants


def _filled(body: Body, type_: Type, *, zero: bool) -> Value:
    """Return a value of zeros, or an unspecified value of the type, chosen anew each time."""
    if isinstance(type_, StructType | ArrayType):
        size = body.layout.size(type_)
        return _bytes(0, size) if zero else Pieces(size, ())
    if isinstance(type_, VectorType):
        parts = (_filled(body, type_.element, zero=zero) for _ in range(type_.count))
        return Lanes(tuple(body.scalar(part) for part in parts))
    return build.constant(0, sort_of(type_)) if zero else body.havoc(sort_of(type_), UNSPECIFIED)


def _bytes(number: int, size: int) -> Pieces:
    """Return an aggregate with the bytes of a number."""
    pieces = (Piece(0, size, build.constant(number, machine(8 * size, signed=False))),) if size else ()
    return Pieces(size, pieces)


def _aggregate(body: Body, operand: ir.Aggregate) -> Value:
    """Return a constant array, vector or structure."""
    if isinstance(operand.type, VectorType):
        return Lanes(tuple(term_of(body, part) for part in operand.parts))
    return assembled(body, operand.type, (value_of(body, part) for part in operand.parts))


def assembled(body: Body, type_: Type, values: Iterable[Value]) -> Pieces:
    """Build an aggregate from the values of its parts."""
    parts: list[Piece] = []
    for index, value in enumerate(values):
        offset, part = field_place(body, type_, index)
        parts += pieces_at(body, value, offset, part)
    return Pieces(body.layout.size(type_), tuple(parts))


def field_place(body: Body, type_: Type, index: int) -> tuple[int, Type]:
    """Return the offset and the type of a part of an aggregate."""
    if isinstance(type_, StructType):
        return body.layout.offsets(type_)[index], type_.fields[index]
    assert isinstance(type_, ArrayType)
    return index * body.layout.size(type_.element), type_.element


def pieces_at(body: Body, value: Value, offset: int, type_: Type) -> list[Piece]:
    """Return a value as pieces of the aggregate that contains it."""
    if isinstance(value, Pieces):
        return [Piece(p.offset + offset, p.size, p.term) for p in value.parts]
    if isinstance(value, Lanes):
        return list(terms.in_pieces(value, offset).parts)
    return [Piece(offset, body.layout.store_size(type_), value)]


def _expression(body: Body, operand: ir.Expression) -> Expr:
    """Return the value of a constant expression; these are never deeply nested."""
    operation, operands = operand.operation, operand.operands
    if operation == "getelementptr":
        assert operand.source is not None
        return indexed(body, operand.source, address_of(body, operands[0]), operands[1:])
    first = term_of(body, operands[0])
    if operation == "inttoptr":
        return from_integer(body, first)
    if operation in ("add", "sub", "xor"):
        return terms.binary(operation, first, term_of(body, operands[1]))
    return terms.convert(operation, first, operand.type)


# ------------------------------------------------------------------------------------- pointers


def indexed(body: Body, source: Type, address: Expr, indices: list[ir.Operand]) -> Expr:
    """Return the address that `getelementptr` computes."""
    for size, index, _ in path(body.layout, source, indices):
        distance = build.integer(size) if index is None else build.scale(size, _distance(body, index))
        address = build.add(address, distance)
    return address


def _distance(body: Body, index: ir.Operand) -> Expr:
    """Return an index as a mathematical number: it is signed. Clang cuts one that is wider than a pointer,
    but in C it leads out of the object."""
    definition = body.flow.definitions.get(index.name) if isinstance(index, ir.Local) else None
    name = "" if definition is None else definition.name or ""
    if isinstance(definition, Binary) and name.startswith("idx.neg"):
        return build.neg(_distance(body, definition.right))
    if isinstance(definition, Convert) and definition.operation == "trunc" and name.startswith(_INDEXES):
        index = definition.operand
    term = term_of(body, index)
    if not isinstance(index.type, IntegerType):
        raise Unmodelled("unsupported-vector", "a vector of pointers")
    if index.type.bits == 1:
        return build.ite(term, build.integer(-1), build.integer(0))
    return build.to_int(terms.signed(term))


def from_integer(body: Body, term: Expr) -> Expr:
    """Convert an integer to a pointer: to the pointer it was converted from, where that is visible, and
    otherwise to the address it is. A variable holds that address, so that the partition of memory can say
    what it may point to."""
    pointer = terms.as_pointer(term, body.layout.pointer_bits)
    if pointer is None:
        pointer = body.fresh(INT)
        address = terms.bits_of(term, body.layout.word)
        body.emit(Assign((pointer,), (build.to_int(address),)))
    return pointer


def variable_at(body: Body, pointer: ir.Operand) -> Expr | None:
    """Return the variable that an access through a pointer is an access to, if there is one."""
    if isinstance(pointer, ir.Local) and body.function is not None:
        slot = body.locals.slots.get(pointer.name)
        return None if slot is None else slot.variable
    if isinstance(pointer, ir.Symbol):
        return body.unit.symbols.scalar(body.module, pointer.name)
    return None


_SIGNED: Final = frozenset(("sext", "sitofp", "sdiv", "srem", "ashr"))
_UNSIGNED: Final = frozenset(("zext", "uitofp", "udiv", "urem", "lshr"))


def value_is_signed(body: Body, name: str) -> bool | None:
    """Return whether the uses of a value treat it as signed; None if they do not tell. A wrong guess costs
    engines precision, never a right answer: all operations are defined on bits."""
    for use in body.flow.uses.get(name, ()):
        if isinstance(use, Convert | Binary):
            if use.operation in _SIGNED:
                return True
            if use.operation in _UNSIGNED:
                return False
            if isinstance(use, Binary) and use.operation in ("add", "sub", "mul"):
                return "nsw" in use.flags
        elif isinstance(use, Compare) and use.predicate[0] in "su":
            return use.predicate[0] == "s"
        elif isinstance(use, Store) and isinstance(use.value, ir.Local) and use.value.name == name:
            variable = variable_at(body, use.pointer)
            if variable is not None and isinstance(variable.sort, MachineSort):
                return variable.sort.signed
    return None

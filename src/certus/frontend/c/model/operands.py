"""Operands of instructions as values: results of other instructions, constants, addresses of symbols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import UNSPECIFIED, Assign
from certus.core.sorts import INT, MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir.operands import (
    Aggregate,
    BlockAddress,
    Bytes,
    Data,
    Expression,
    Float,
    Integer,
    Local,
    Null,
    Operand,
    Symbol,
    Undefined,
    Zero,
)
from certus.frontend.c.ir.types import (
    ArrayType,
    IntegerType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from certus.frontend.c.model.terms import (
    NULL,
    Lanes,
    Piece,
    Pieces,
    Unmodelled,
    Value,
    as_pointer,
    as_sort,
    binary,
    convert,
    machine_sort,
    no_value,
    signed,
    sort_of,
)

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def value_of(body: Body, operand: Operand) -> Value:
    """Return the value of an operand; may take steps for what is undefined."""
    if isinstance(operand, Local):
        found = body.values.get(operand.name)
        if found is None:
            raise no_value(operand.type)
        return found
    if isinstance(operand, Integer):
        assert isinstance(operand.type, IntegerType)
        if operand.type.bits == 1:
            return build.boolean(operand.value != 0)
        sort = machine(operand.type.bits, signed=True)
        return build.constant(sort.wrap(operand.value), sort)
    if isinstance(operand, Null):
        return NULL
    if isinstance(operand, Symbol):
        return body.unit.address(body.module, operand.name)
    if isinstance(operand, Undefined):
        return _undefined(body, operand.type)
    if isinstance(operand, Zero):
        return _zero(body, operand.type)
    if isinstance(operand, Expression):
        return _expression(body, operand)
    if isinstance(operand, Aggregate | Data | Bytes):
        return _aggregate(body, operand)
    if isinstance(operand, BlockAddress):
        return body.unit.label_address(body.module, operand.function, operand.label)
    assert isinstance(operand, Float)
    raise no_value(operand.type)


def term_of(body: Body, operand: Operand) -> Expr:
    """Return the value of an operand as one term."""
    return body.scalar(value_of(body, operand))


def address_of(body: Body, operand: Operand) -> Expr:
    """Return a pointer."""
    return as_sort(term_of(body, operand), INT)


def _undefined(body: Body, type_: Type) -> Value:
    """Any value of the type, chosen once each time."""
    if isinstance(type_, StructType | ArrayType):
        return Pieces(body.layout.size(type_), ())
    if isinstance(type_, VectorType):
        parts = [body.scalar(_undefined(body, type_.element)) for _ in range(type_.count)]
        return Lanes(tuple(parts))
    return body.havoc(sort_of(type_), UNSPECIFIED)


def _zero(body: Body, type_: Type) -> Value:
    if isinstance(type_, VectorType):
        return Lanes((build.constant(0, sort_of(type_.element)),) * type_.count)
    if isinstance(type_, StructType | ArrayType):
        size = body.layout.size(type_)
        return Pieces(
            size, (Piece(0, size, build.constant(0, machine(8 * size, signed=False))),) if size else ()
        )
    return build.constant(0, sort_of(type_))


def _aggregate(body: Body, operand: Aggregate | Data | Bytes) -> Value:
    type_ = operand.type
    if isinstance(operand, Bytes):
        number = int.from_bytes(operand.data, "little")
        size = len(operand.data)
        return Pieces(size, (Piece(0, size, build.constant(number, machine(8 * size, signed=False))),))
    if isinstance(operand, Data):
        assert isinstance(type_, ArrayType | VectorType)
        parts: list[Operand] = [Integer(type_.element, value) for value in operand.values]
    else:
        parts = operand.parts
    if isinstance(type_, VectorType):
        return Lanes(tuple(term_of(body, part) for part in parts))
    return assembled(body, type_, [value_of(body, part) for part in parts])


def field_place(body: Body, type_: Type, index: int) -> tuple[int, Type]:
    """Return where a part of an aggregate starts, and its type."""
    if isinstance(type_, StructType):
        return body.layout.offsets(type_)[index], type_.fields[index]
    assert isinstance(type_, ArrayType)
    return index * body.layout.size(type_.element), type_.element


def assembled(body: Body, type_: Type, values: Iterable[Value]) -> Pieces:
    """Return an aggregate made of the values of its parts."""
    parts: list[Piece] = []
    for index, value in enumerate(values):
        offset, part = field_place(body, type_, index)
        parts += pieces_at(body, value, offset, part)
    return Pieces(body.layout.size(type_), tuple(parts))


def pieces_at(body: Body, value: Value, offset: int, type_: Type) -> list[Piece]:
    """Return a value as pieces of an aggregate that it is a part of."""
    if isinstance(value, Pieces):
        return [Piece(p.offset + offset, p.size, p.term) for p in value.parts]
    if isinstance(value, Lanes):
        raise Unmodelled("unsupported-vector", "a vector in a record")
    return [Piece(offset, body.layout.store_size(type_), value)]


def _expression(body: Body, operand: Expression) -> Expr:
    """A constant expression; these are rarely nested, and never deep."""
    operation, operands = operand.operation, operand.operands
    if operation == "getelementptr":
        assert operand.source is not None
        return indexed(body, operand.source, address_of(body, operands[0]), operands[1:])
    first = term_of(body, operands[0])
    if operation == "inttoptr":
        return from_integer(body, first)
    if operation in ("add", "sub", "xor"):
        return binary(operation, first, term_of(body, operands[1]))
    return convert(operation, first, operand.type)


def indexed(body: Body, source: Type, address: Expr, indices: list[Operand]) -> Expr:
    """Return the address that `getelementptr` computes."""
    type_, layout = source, body.layout
    for number, index in enumerate(indices):
        if number and isinstance(type_, StructType):
            assert isinstance(index, Integer)
            address = build.add(address, build.integer(layout.offsets(type_)[index.value]))
            type_ = type_.fields[index.value]
            continue
        if number:
            if not isinstance(type_, ArrayType | VectorType):
                raise Unmodelled("unsupported-type", f"an index into `{type_.text}`")
            type_ = type_.element
        address = build.add(address, build.scale(layout.size(type_), _distance(body, index)))
    return address


def _distance(body: Body, index: Operand) -> Expr:
    """An index as a mathematical number: it is signed."""
    term = term_of(body, index)
    if not isinstance(index.type, IntegerType):
        raise Unmodelled("unsupported-vector", "a vector of pointers")
    if index.type.bits == 1:
        return build.ite(term, build.integer(-1), build.integer(0))
    if term.kind is Kind.WRAP and _is_extended(term):
        return build.to_int(term)
    return build.to_int(signed(term))


def _is_extended(term: Expr) -> bool:
    """Whether a number was narrower and unsigned, so that it is not negative in any reading."""
    inner = term.args[0].sort
    return isinstance(inner, MachineSort) and not inner.signed and inner.width < machine_sort(term).width


def from_integer(body: Body, term: Expr) -> Expr:
    """Return an integer as a pointer: the pointer it was converted from, where that is plain to see, and
    otherwise the address it is. A variable holds that address, so that the partition of memory can say what
    it may point to."""
    found = as_pointer(term, body.layout.pointer_bits)
    if found is None:
        found = body.fresh(INT)
        wide = machine(body.layout.pointer_bits, signed=False)
        if term.sort is not INT and machine_sort(term).width < wide.width:
            term = build.wrap(term, machine(machine_sort(term).width, signed=False))
        body.emit(Assign((found,), (build.to_int(build.wrap(term, wide)),)))
    return found


def is_pointer(type_: Type) -> bool:
    return isinstance(type_, PointerType)

"""Vectors of integers, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certus.core import build
from certus.core.sorts import machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.types import IntegerType, Type, VectorType
from certus.frontend.c.model.operands import term_of, value_of
from certus.frontend.c.model.terms import (
    Lanes,
    Piece,
    Pieces,
    Unmodelled,
    Value,
    as_sort,
    convert,
    equal,
    no_value,
    sort_of,
    taken,
)

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def _lanes(body: Body, value: Value) -> Lanes:
    if not isinstance(value, Lanes):
        raise Unmodelled("unsupported-vector", "a vector of this type")
    return value


def converted(body: Body, operation: str, value: Value, source: Type, type_: Type) -> Value:
    """Return a conversion from or to a vector; `bitcast` keeps the bytes and changes the elements."""
    if operation != "bitcast":
        if not isinstance(type_, VectorType):
            raise no_value(type_)
        element = type_.element
        return Lanes(tuple(convert(operation, part, element) for part in _lanes(body, value).parts))
    size = body.layout.store_size(type_)
    if isinstance(value, Lanes):
        assert isinstance(source, VectorType)
        step = _whole_bytes(source.element)
        value = Pieces(size, tuple(Piece(i * step, step, part) for i, part in enumerate(value.parts)))
    if not isinstance(type_, VectorType):
        term = taken(value, [(0, size)], body.unset)[0]
        return as_sort(term, sort_of(type_))
    step = _whole_bytes(type_.element)
    terms = taken(value, [(i * step, step) for i in range(type_.count)], body.unset)
    return Lanes(tuple(as_sort(term, sort_of(type_.element)) for term in terms))


def _whole_bytes(type_: Type) -> int:
    if not isinstance(type_, IntegerType) or type_.bits % 8:
        raise no_value(type_)
    return type_.bits // 8


def extract(body: Body, instruction: ir.ExtractElement) -> None:
    parts = _lanes(body, value_of(body, instruction.vector)).parts
    index = term_of(body, instruction.index)
    if index.kind is Kind.CONST and int(index.value) < len(parts):
        body.define(instruction, parts[int(index.value)])
        return
    found = parts[-1]
    for number in reversed(range(len(parts) - 1)):
        found = build.ite(_is(index, number), parts[number], found)
    body.define(instruction, found)


def insert(body: Body, instruction: ir.InsertElement) -> None:
    parts = _lanes(body, value_of(body, instruction.vector)).parts
    value, index = term_of(body, instruction.value), term_of(body, instruction.index)
    made = [build.ite(_is(index, n), as_sort(value, part.sort), part) for n, part in enumerate(parts)]
    body.define(instruction, Lanes(tuple(made)))


def _is(index: Expr, number: int) -> Expr:
    wide = machine(getattr(index.sort, "width", 32), signed=False)
    return equal(build.wrap(index, wide), build.constant(number, wide))


def shuffle(body: Body, instruction: ir.ShuffleVector) -> None:
    left = _lanes(body, value_of(body, instruction.left)).parts
    right = _lanes(body, value_of(body, instruction.right)).parts
    both = (*left, *right)
    made = [both[0] if number is None else both[number] for number in instruction.mask]
    body.define(instruction, Lanes(tuple(made)))


def reduced(body: Body, value: Value, operation: str) -> Expr:
    """Return the result of `llvm.vector.reduce`."""
    from certus.frontend.c.model.intrinsics import chosen
    from certus.frontend.c.model.terms import binary

    parts = _lanes(body, value).parts
    found = parts[0]
    for part in parts[1:]:
        if operation in ("smin", "smax", "umin", "umax"):
            found = chosen(operation, found, part)
        else:
            found = binary(operation, found, part)
    return found

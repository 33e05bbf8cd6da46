"""The contents of static objects: constants as stores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.sorts import machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir.operands import (
    Aggregate,
    Bytes,
    Data,
    Float,
    Integer,
    Null,
    Operand,
    Undefined,
    Zero,
)
from certus.frontend.c.ir.types import ArrayType, FloatType, IntegerType, StructType, VectorType
from certus.frontend.c.model.operands import term_of
from certus.frontend.c.model.terms import U8, no_value, stored_bits

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def contents(body: Body, constant: Operand) -> Iterator[tuple[int, int, Expr]]:
    """Yield the scalars of a constant that are not zero: offset, size in bytes, and the bits as an unsigned
    integer."""
    layout = body.layout
    stack: list[tuple[int, Operand]] = [(0, constant)]
    while stack:
        offset, part = stack.pop()
        type_ = part.type
        if isinstance(part, Zero | Null | Undefined):
            continue
        if isinstance(part, Bytes):
            for index, byte in enumerate(part.data):
                if byte:
                    yield offset + index, 1, build.constant(byte, U8)
        elif isinstance(part, Data):
            assert isinstance(type_, ArrayType | VectorType)
            step, size = layout.size(type_.element), layout.store_size(type_.element)
            sort = machine(8 * size, signed=False)
            for index, value in enumerate(part.values):
                if value:
                    yield offset + index * step, size, build.constant(_bits(type_.element, value), sort)
        elif isinstance(part, Aggregate):
            if isinstance(type_, StructType):
                starts = layout.offsets(type_)
            else:
                assert isinstance(type_, ArrayType | VectorType)
                step = layout.size(type_.element)
                starts = tuple(index * step for index in range(type_.count))
            stack += [
                (offset + at, each) for at, each in reversed(list(zip(starts, part.parts, strict=True)))
            ]
        elif isinstance(part, Integer):
            if part.value:
                size = layout.store_size(type_)
                yield offset, size, build.constant(_bits(type_, part.value), machine(8 * size, signed=False))
        elif isinstance(type_, FloatType):
            assert isinstance(part, Float)
            if float_is_zero(part):
                continue
            raise no_value(type_)
        else:
            size = layout.store_size(type_)
            term = stored_bits(term_of(body, part), size)
            if term.kind is not Kind.CONST or term.value:
                yield offset, size, build.wrap(term, machine(8 * size, signed=False))


def float_is_zero(constant: Float) -> bool:
    """Whether all bits of a number are zero."""
    return constant.text.strip("0x.KLMHRe+") == ""


def _bits(type_: object, value: int) -> int:
    assert isinstance(type_, IntegerType)
    return value % (1 << type_.bits)

"""Inline assembly by its constraints: an empty template has no effect, others give any values to what they
may write. No counterexample may depend on these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.types import IntegerType, PointerType, StructType, Type, VoidType
from certus.frontend.c.model.memory import write
from certus.frontend.c.model.operands import address_of, value_of
from certus.frontend.c.model.terms import Piece, Pieces, Unmodelled, Value, no_value, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

WHAT = "what assembly computes"


def lower(body: Body, instruction: ir.Call, callee: ir.Assembly) -> None:
    """Lower a piece of assembly."""
    constraints = [c.strip() for c in callee.constraints.split(",") if c.strip()]
    if instruction.targets:
        raise Unmodelled("unsupported-asm", "assembly that jumps")
    empty = not callee.template.strip()
    arguments = instruction.arguments
    outputs = [c for c in constraints if c.startswith("=")]
    inputs = [c for c in constraints if not c.startswith(("=", "~"))]
    pointed = [c for c in outputs if "*" in c]
    if "~{memory}" in constraints and not empty:
        raise Unmodelled("unsupported-asm", "assembly that may write anywhere in memory")
    tied = {int(c): arguments[len(pointed) + n] for n, c in enumerate(inputs) if c.isdigit()}
    for number, constraint in enumerate(pointed):
        if empty:
            continue
        argument = arguments[number]
        type_ = argument.passing.element
        if type_ is None:
            raise Unmodelled("unsupported-asm", f"assembly with the constraint `{constraint}`")
        write(body, address_of(body, argument.operand), _any(body, type_), type_, None)
    if isinstance(instruction.result, VoidType):
        return
    direct = [number for number, c in enumerate(outputs) if "*" not in c]
    types = (
        list(instruction.result.fields)
        if isinstance(instruction.result, StructType)
        else [instruction.result]
    )
    values: list[Value] = []
    for number, type_ in zip(direct, types, strict=True):
        if empty and number in tied:
            values.append(value_of(body, tied[number].operand))
        else:
            values.append(_any(body, type_))
    if not isinstance(instruction.result, StructType):
        body.define(instruction, values[0])
        return
    parts = []
    for value, type_, offset in zip(values, types, body.layout.offsets(instruction.result), strict=True):
        parts.append(Piece(offset, body.layout.store_size(type_), body.scalar(value)))
    body.define(instruction, Pieces(body.layout.size(instruction.result), tuple(parts)))


def _any(body: Body, type_: Type) -> Value:
    if not isinstance(type_, IntegerType | PointerType):
        raise no_value(type_)
    return body.havoc(sort_of(type_), approximates=WHAT)

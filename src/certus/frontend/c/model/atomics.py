"""Atomic operations: without threads, plain ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certus.core import build
from certus.core.sorts import BOOL, machine
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Operand
from certus.frontend.c.ir.types import Type
from certus.frontend.c.model.intrinsics import chosen
from certus.frontend.c.model.memory import read, variable_at, write
from certus.frontend.c.model.operands import address_of, term_of
from certus.frontend.c.model.terms import Piece, Pieces, Unmodelled, as_sort, binary, compare

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def _read(body: Body, pointer: Operand, type_: Type) -> Expr:
    variable = variable_at(body, pointer, type_)
    if variable is not None:
        return body.held(variable)
    return body.held(body.scalar(read(body, address_of(body, pointer), type_, None)))


def _write(body: Body, pointer: Operand, type_: Type, term: Expr) -> None:
    variable = variable_at(body, pointer, type_)
    if variable is not None:
        body.assign(variable, as_sort(term, variable.sort))
    else:
        write(body, address_of(body, pointer), term, type_, None)


def update(body: Body, instruction: ir.AtomicUpdate) -> None:
    operation, type_ = instruction.operation, instruction.value.type
    value = term_of(body, instruction.value)
    old = _read(body, instruction.pointer, type_)
    if operation == "xchg":
        new = value
    elif operation in ("add", "sub", "and", "or", "xor"):
        new = binary(operation, old, value)
    elif operation == "nand":
        new = build.bit_not(binary("and", old, value))
    elif operation in ("max", "min", "umax", "umin"):
        new = chosen(operation if operation[0] == "u" else f"s{operation}", old, value)
    else:
        raise Unmodelled("unsupported-atomic", f"the atomic operation `{operation}`")
    _write(body, instruction.pointer, type_, new)
    body.define(instruction, old)


def exchange(body: Body, instruction: ir.CompareExchange) -> None:
    type_ = instruction.new.type
    expected, new = term_of(body, instruction.expected), term_of(body, instruction.new)
    old = _read(body, instruction.pointer, type_)
    same = body.fresh(BOOL)
    holds = compare("eq", old, expected)
    if instruction.weak:  # it may fail although they are equal
        fails = body.havoc(machine(1, signed=False), approximates="a weak exchange that fails")
        holds = build.and_(holds, build.eq(fails, build.constant(0, fails.sort)))
    body.assign(same, holds)
    kept = old if old.sort is new.sort else as_sort(old, new.sort)
    _write(body, instruction.pointer, type_, build.ite(same, new, kept))
    size, offset = body.layout.store_size(type_), body.layout.size(type_)
    if instruction.name is not None:
        body.define(instruction, Pieces(offset + 1, (Piece(0, size, old), Piece(offset, 1, same))))

"""Calls: of functions with a body, and the way to all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certus.core import build
from certus.core.program import Alloc, Assume, Call
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Symbol
from certus.frontend.c.ir.types import IntegerType, PointerType, Type, VoidType
from certus.frontend.c.model import assembly, checks, externals, indirect, intrinsics, probing
from certus.frontend.c.model.arguments import bound, end_copies, fitted, given_arguments, pack
from certus.frontend.c.model.folding import folded, is_foldable
from certus.frontend.c.model.operands import term_of
from certus.frontend.c.model.terms import NULL, Piece, Pieces, Value, as_sort, sort_of
from certus.frontend.c.source.probes import FUNCTION as PROBE

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def call(body: Body, instruction: ir.Call) -> None:
    """Lower a call of any kind."""
    callee, unit = instruction.callee, body.unit
    if isinstance(callee, ir.Assembly):
        assembly.lower(body, instruction, callee)
        return
    if not isinstance(callee, Symbol):
        indirect.call(body, instruction, callee)
        return
    name = callee.name
    if name.startswith("llvm."):
        intrinsics.lower(body, instruction, name)
    elif body.probe is not None and name == PROBE:
        probing.lower(body, instruction, body.probe)
    elif name.startswith("__ubsan_handle_"):
        checks.failed(body, instruction, name)
    elif name in unit.rules.functions and unit.is_program(body.module):
        error(body, unit.rules.functions[name], name, instruction)
    elif (defined := unit.definition(body.module, name)) is not None:
        direct(body, instruction, defined)
    else:
        externals.call(body, instruction, name)


def error(body: Body, kind: str, name: str, instruction: ir.Call | None = None) -> None:
    """A call that must not happen."""
    written = claimed = body.written_call(name)
    if kind == "assertion" and instruction is not None and instruction.arguments:
        claimed = body.unit.literal(body.module, instruction.arguments[0].operand) or written
    failed, start = body.draft.node(), body.condition_start()
    body.emit(Assume(build.TRUE), text=written, target=failed)
    body.draft.error(failed, kind, body.span, claimed, statement=body.statement, function=name, start=start)
    body.stop()


def direct(body: Body, instruction: ir.Call, callee: Body) -> None:
    """Call a function that is defined."""
    given = given_arguments(body, instruction)
    if (
        not body.unit.is_program(callee.module)
        and is_foldable(callee)
        and len(given) == len(callee.parameters)
    ):
        passed = bound(body, given, callee, NULL)
        result = folded(body, callee, passed)
        if instruction.name is not None:
            body.define(instruction, result_as(body, result, instruction.result))
        return
    body.before_call()
    packed = NULL if callee.more is None else pack(body, given[len(callee.signature.cells) :])
    passed = bound(body, given, callee, packed)
    targets, value = targets_of(body, callee)
    body.emit(Call(callee.name, passed, targets), call=body.call_span())
    end_copies(body, given, packed)
    if instruction.name is not None:
        body.define(instruction, result_as(body, value, instruction.result))


def targets_of(body: Body, callee: Body) -> tuple[tuple[Expr, ...], Value | None]:
    """Make the variables that a call of a function writes; return them and the value they make."""
    made = tuple(body.fresh(v.sort) for v in callee.results)
    cells = callee.signature.result_cells
    if cells is not None:
        parts = tuple(Piece(o, w, t) for (o, w), t in zip(cells, made, strict=True))
        return made, Pieces(callee.layout.store_size(callee.signature.type.result), parts)
    return made, made[0] if made else None


def result_as(body: Body, value: Value | None, type_: Type) -> Value:
    """Return a result as the caller expects it; calls by another type than the function's need that."""
    if value is None:
        assert not isinstance(type_, VoidType)
        return body.havoc(sort_of(type_), approximates="the result of a function that returns none")
    if isinstance(value, Expr) and isinstance(type_, IntegerType | PointerType):
        wanted = sort_of(type_)
        if getattr(value.sort, "width", 0) != getattr(wanted, "width", -1):
            return fitted(body, value, wanted)
    return value


def dynamic_object(body: Body, instruction: ir.Alloca) -> None:
    """Make an object whose size, or whose place, is known only at run time."""
    size: Expr = build.integer(body.layout.size(instruction.type))
    if instruction.count is not None:
        size = build.mul(as_sort(term_of(body, instruction.count), INT), size)
    base = body.fresh(INT)
    name = instruction.name or "array"
    align = instruction.align or body.layout.align(instruction.type)
    body.emit(Alloc(base, size, align, "stack", name))
    body.define(instruction, base)

"""Probes: expressions that someone else put into the program (`frontend.c.source.probes`).

An instruction belongs to a probe if its source position lies in the inserted text; such an instruction may
only read. An invariant must be defined wherever it is evaluated: a division by zero, an excessive shift or an
overflow in it is an error site of the probe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.core.intervals import Interval, of_sort, point
from certus.core.program import Assume
from certus.core.terms import Expr, Kind, MachineSort, machine
from certus.core.witness import PROBE, UNDEFINED
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Operand, Symbol, Undefined
from certus.frontend.c.model import intrinsics
from certus.frontend.c.model.checks import claim_in_probe
from certus.frontend.c.model.operands import term_of, value_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_IMPURE: Final = (
    *(ir.Store, ir.AtomicUpdate, ir.CompareExchange, ir.Fence, ir.Alloca, ir.Other),
    *(ir.IndirectJump, ir.Return, ir.Unreachable),
)
_PURE_INTRINSICS: Final = ("llvm.s", "llvm.u", "llvm.abs", "llvm.objectsize", "llvm.is.constant")
_PURE_FUNCTIONS: Final = (PROBE, "__ubsan_handle_", *_PURE_INTRINSICS)
_PARTIAL: Final = frozenset(["sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr"])


class Impure(InputError):
    """The expression of a probe has a side effect."""

    def __init__(self, number: int, span: Span | None) -> None:
        message = "This expression has a side effect: it may only read variables."
        super().__init__([Diagnostic("bad-witness", message, span=span)])
        self.number = number


def check_pure(body: Body, instruction: ir.Instruction, number: int) -> None:
    """Raise `Impure` if an instruction of this probe writes or calls something."""
    impure = isinstance(instruction, _IMPURE)
    if isinstance(instruction, ir.Call):
        name = instruction.callee.name if isinstance(instruction.callee, Symbol) else ""
        impure = not name.startswith(_PURE_FUNCTIONS)
    if impure:
        raise Impure(number, body.cursor.span)


def lower_probe(body: Body, instruction: ir.Call) -> None:
    """Make it an error if the expression of a probe is 0."""
    holds = body.truth(term_of(body, instruction.arguments[1].operand))
    claim_in_probe(body, holds, body.cursor.text, always=True)


def fail_probe(body: Body) -> None:
    """Make it an error of an invariant that control comes here: its value is not defined."""
    failed, cursor = body.draft.node(), body.cursor
    body.emit(Assume(build.TRUE), target=failed)
    body.draft.error(failed, cursor.text, cursor.span, UNDEFINED, statement=cursor.statement)
    body.stop()


def is_partial(instruction: ir.Instruction) -> bool:
    """Return whether the value of an instruction may be undefined."""
    return isinstance(instruction, ir.Binary) and (
        instruction.operation in _PARTIAL or "nsw" in instruction.flags
    )


def is_poison(operand: Operand) -> bool:
    return isinstance(operand, Undefined) and operand.poison


def uses_poison(instruction: ir.Instruction) -> bool:
    """Return whether Clang knows that an operand has no defined value."""
    return not isinstance(instruction, ir.Phi) and any(map(is_poison, instruction.operands))


def gives_poison(body: Body, label: str) -> bool:
    """Return whether a block passes an undefined value to a phi of a successor."""
    return any(
        is_poison(phi.incoming[label])
        for target in ir.successors(body.flow.blocks[label].last)
        for phi in body.flow.blocks[target].instructions
        if isinstance(phi, ir.Phi)
    )


def require_defined(body: Body, instruction: ir.Binary) -> None:
    """Make it an error if an operation of an invariant has no defined value."""
    left, right = value_of(body, instruction.left), value_of(body, instruction.right)
    if isinstance(left, Expr) and isinstance(right, Expr):
        claim_in_probe(body, _is_defined(instruction, left, right), UNDEFINED)


# ------------------------------------------------------------------- when operations are defined

_OPERATIONS: Final = {Kind.ADD: "add", Kind.SUB: "sub", Kind.MUL: "mul"}


def _is_defined(instruction: ir.Binary, a: Expr, b: Expr) -> Expr:
    """Return the condition under which an operation has a defined value."""
    operation, sort = instruction.operation, a.sort
    if not isinstance(sort, MachineSort) or not isinstance(b.sort, MachineSort):
        return build.TRUE
    if operation in ("shl", "lshr", "ashr"):
        return _shift_is_defined(operation, a, b, sort)
    if operation in ("udiv", "urem"):
        return build.ne(b, build.constant(0, b.sort))
    signed = machine(sort.width, signed=True)
    x, y = build.wrap(a, signed), build.wrap(b, signed)
    if operation in ("sdiv", "srem"):
        least, minus = build.constant(signed.low, signed), build.constant(-1, signed)
        overflow = build.and_(build.eq(x, least), build.eq(y, minus))
        return build.and_(build.ne(y, build.constant(0, signed)), build.not_(overflow))
    return _fits(operation, x, y, signed) if "nsw" in instruction.flags else build.TRUE


def _shift_is_defined(operation: str, a: Expr, b: Expr, sort: MachineSort) -> Expr:
    """The amount must be less than the width; a signed left shift must not lose bits of a natural number."""
    own = machine(sort.width, signed=False)
    amount = build.wrap(b, own)
    possible = build.lt(amount, build.constant(sort.width, own))
    if operation != "shl" or not sort.signed:
        return possible
    fits = build.le(a, build.shr(build.constant(sort.high, sort), build.wrap(amount, sort)))
    return build.and_(possible, build.le(build.constant(0, sort), a), fits)


def _fits(operation: str, a: Expr, b: Expr, sort: MachineSort) -> Expr:
    """Return the condition that the exact result of an operation is a value of the sort."""
    if _bounds(operation, a, b).within(of_sort(sort)):
        return build.TRUE
    return build.not_(intrinsics.checked(f"llvm.s{operation}", a, b)[1])


def _bounds(operation: str, a: Expr, b: Expr) -> Interval:
    """Return bounds of the exact result of an operation."""
    one, other = _range(a), _range(b)
    if operation == "mul":
        return one.times(other)
    return one.plus(other if operation == "add" else other.scaled(-1))


def _range(term: Expr) -> Interval:
    """Return bounds of a term that follow from its form alone."""
    span = everything = of_sort(term.sort)
    if term.kind is Kind.CONST:
        return point(int(term.value))
    if term.kind is Kind.WRAP and isinstance(term.args[0].sort, MachineSort):
        span = _range(term.args[0])
    elif term.kind in _OPERATIONS and len(term.args) == 2:
        span = _bounds(_OPERATIONS[term.kind], *term.args)
    return span if span.within(everything) else everything

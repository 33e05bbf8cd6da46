"""Probes: expressions of others that the program evaluates without noticing (`frontend.c.source.probes`).

An instruction belongs to a probe if its source position lies in the text that was inserted for the probe.
Such an instruction may only read. An invariant must be defined wherever it is evaluated: if it divides by
zero, shifts too far or overflows, that is an error site of the probe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError
from certus.core.program import Assume
from certus.core.sorts import MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.core.witness import UNDEFINED, probe_kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Operand, Symbol, Undefined
from certus.frontend.c.model.operands import term_of, value_of
from certus.frontend.c.source.probes import FUNCTION

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_EFFECTS: Final = (
    ir.Store,
    ir.AtomicUpdate,
    ir.CompareExchange,
    ir.Fence,
    ir.Alloca,
    ir.VariableArgument,
    ir.IndirectJump,
    ir.Return,
)
_HARMLESS: Final = (FUNCTION, "__ubsan_handle_")
_INTRINSICS: Final = ("llvm.s", "llvm.u", "llvm.abs", "llvm.objectsize", "llvm.is.constant")
_PARTIAL: Final = frozenset(("sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr"))


class Impure(InputError):
    """The expression of a probe does something."""

    def __init__(self, number: int, span: Span | None) -> None:
        message = "This expression does more than to look at variables."
        super().__init__([Diagnostic("bad-witness", message, span=span)])
        self.number = number


def check_pure(body: Body, instruction: ir.Instruction, number: int) -> None:
    """Refuse the expression of a probe that writes or calls something."""
    impure = isinstance(instruction, _EFFECTS)
    if isinstance(instruction, ir.Call):
        callee = instruction.callee
        name = callee.name if isinstance(callee, Symbol) else ""
        impure = not name.startswith((*_HARMLESS, *_INTRINSICS))
    if impure:
        raise Impure(number, body.span)


def is_partial(instruction: ir.Instruction) -> bool:
    """Whether an instruction may have no defined value."""
    return isinstance(instruction, ir.Binary) and (
        instruction.operation in _PARTIAL or "nsw" in instruction.flags
    )


def is_poison(operand: Operand) -> bool:
    return isinstance(operand, Undefined) and operand.poison


def uses_poison(instruction: ir.Instruction) -> bool:
    """Whether Clang knows that an operand has no defined value."""
    return not isinstance(instruction, ir.Phi) and any(map(is_poison, ir.operands(instruction)))


def gives_poison(body: Body, label: str) -> bool:
    """Whether a block gives a phi behind it a value that is not defined."""
    return any(
        is_poison(value) and source == label
        for target in ir.successors(body.flow.blocks[label].last)
        for phi in body.flow.blocks[target].instructions
        if isinstance(phi, ir.Phi)
        for value, source in phi.ways
    )


def require_defined(body: Body, instruction: ir.Binary, number: int) -> None:
    """Make it an error if an operation of an invariant has no defined value."""
    left, right = value_of(body, instruction.left), value_of(body, instruction.right)
    if isinstance(left, Expr) and isinstance(right, Expr):
        _claim(body, _defined(body, instruction, left, right), number, UNDEFINED)


def failed_check(body: Body, number: int) -> None:
    """A check of Clang fails in a probe: of an invariant, that is an error of the probe."""
    failed, text = body.draft.node(), probe_kind(number)
    body.emit(Assume(build.TRUE), target=failed)
    body.draft.error(failed, text, body.span, UNDEFINED, statement=body.statement)
    body.stop()


def lower(body: Body, instruction: ir.Call, number: int) -> None:
    """Make it an error if the expression of a probe is 0."""
    holds = body.truth(term_of(body, instruction.arguments[1].operand))
    _claim(body, holds, number, probe_kind(number), always=True)


def _claim(body: Body, holds: Expr, number: int, text: str, *, always: bool = False) -> None:
    if holds is build.TRUE and not always:
        return
    after, failed, kind = body.draft.node(), body.draft.node(), probe_kind(number)
    at = body.at
    for term, target, side in ((holds, after, True), (build.not_(holds), failed, False)):
        body.at = at
        body.emit(Assume(term), target=target, branch=side, text=kind)
    body.draft.error(failed, kind, body.span, text, statement=body.statement)
    body.at = after


# ------------------------------------------------------------------------------------ conditions


def _defined(body: Body, instruction: ir.Binary, a: Expr, b: Expr) -> Expr:
    operation, sort = instruction.operation, a.sort
    if not isinstance(sort, MachineSort) or not isinstance(b.sort, MachineSort):
        return build.TRUE
    if operation in ("shl", "lshr", "ashr"):
        return _shift(operation, a, b, sort)
    if operation in ("udiv", "urem"):
        return build.ne(b, build.constant(0, b.sort))
    signed = machine(sort.width, signed=True)
    x, y = build.wrap(a, signed), build.wrap(b, signed)
    if operation in ("sdiv", "srem"):
        least, minus = build.constant(signed.low, signed), build.constant(-1, signed)
        overflow = build.and_(build.eq(x, least), build.eq(y, minus))
        return build.and_(build.ne(y, build.constant(0, signed)), build.not_(overflow))
    return _fits(operation, x, y, signed) if "nsw" in instruction.flags else build.TRUE


def _shift(operation: str, a: Expr, b: Expr, sort: MachineSort) -> Expr:
    """The amount is less than the width; what is shifted to the left, if signed, fits as an exact product."""
    own = machine(sort.width, signed=False)
    amount = build.wrap(b, own)
    possible = build.lt(amount, build.constant(sort.width, own))
    if operation != "shl" or not sort.signed:
        return possible
    fits = build.le(a, build.shr(build.constant(sort.high, sort), build.wrap(amount, sort)))
    return build.and_(possible, build.le(build.constant(0, sort), a), fits)


def _fits(operation: str, a: Expr, b: Expr, sort: MachineSort) -> Expr:
    """The exact result is a value of the sort."""
    (low, high), (least, most) = _range(a), _range(b)
    if operation == "add":
        bounds = low + least, high + most
    elif operation == "sub":
        bounds = low - most, high - least
    else:
        corners = [x * y for x in (low, high) for y in (least, most)]
        bounds = min(corners), max(corners)
    if sort.low <= bounds[0] and bounds[1] <= sort.high:
        return build.TRUE
    wide = machine(2 * sort.width if operation == "mul" else sort.width + 1, signed=True)
    x, y = build.wrap(a, wide), build.wrap(b, wide)
    exact = build.add(x, y) if operation == "add" else build.sub(x, y)
    if operation == "mul":
        exact = build.mul(x, y)
    return build.and_(
        build.le(build.constant(sort.low, wide), exact), build.le(exact, build.constant(sort.high, wide))
    )


def _range(term: Expr) -> tuple[int, int]:
    """Bounds of a term, from its form alone."""
    sort = term.sort
    assert isinstance(sort, MachineSort)
    if term.kind is Kind.CONST:
        return int(term.value), int(term.value)
    if term.kind is Kind.WRAP and isinstance(term.args[0].sort, MachineSort):
        low, high = _range(term.args[0])
        if sort.low <= low and high <= sort.high:
            return low, high
    if term.kind in (Kind.ADD, Kind.SUB, Kind.MUL) and len(term.args) == 2:
        (low, high), (least, most) = (_range(each) for each in term.args)
        if term.kind is Kind.ADD:
            bounds = low + least, high + most
        elif term.kind is Kind.SUB:
            bounds = low - most, high - least
        else:
            corners = [x * y for x in (low, high) for y in (least, most)]
            bounds = min(corners), max(corners)
        if sort.low <= bounds[0] and bounds[1] <= sort.high:
            return bounds
    return sort.low, sort.high

"""Checks: calls of error functions, the checks of Clang's sanitizers, and questions about memory accesses.

The program asks before an access whether it is valid, and it is an error if the answer is no. An access needs
no check if it is valid by construction: at a constant offset of an object that lives wherever its name can be
used, or to bytes that were checked just before. Checks in the models of the library have no place in the
source; reports show the call instead. Without a memory property they take no step.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.effects import targets
from certus.core.program import Access, Assume, BasicOp, Call, Free, Inspect, InspectHeap, Retained
from certus.core.terms import BOOL, Expr, Kind
from certus.core.vocabulary import ASSUMING, CLAIMS, FREE, LEAK, NOT_FREED, READ, WRITE
from certus.core.walk import variables
from certus.core.witness import UNDEFINED
from certus.frontend.c.compile import SANITIZERS
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Operand, Symbol
from certus.frontend.c.model.flow import DIVISOR, HANDLER, QUOTIENT
from certus.frontend.c.model.operands import value_of
from certus.frontend.c.model.terms import NULL, U8, Unmodelled
from certus.frontend.c.source import expressions

if TYPE_CHECKING:
    from certus.frontend.c.ir.module import Module
    from certus.frontend.c.model.body import Body

_ACCESSES: Final[dict[Access, str]] = {"read": READ, "write": WRITE, "free": FREE}
_HEAP: Final[tuple[tuple[str, Retained, str], ...]] = (
    (LEAK, "tracked", "every object on the heap can still be reached by pointers"),
    (NOT_FREED, "freed", "every object on the heap has been freed"),
)
# Models whose accesses are valid: the caller checks the range, or the objects are the library's own.
_TRUSTED: Final = re.compile(r"__certus_(?!line|format).*|atexit")
_ESCAPED: Final = "escaped"  # the variable that is 1 if a function without a body has got a pointer


def lower_error_call(body: Body, kind: str, name: str, instruction: ir.Call | None = None) -> None:
    """Lower a call of an error function: reaching it is an error."""
    written = text = body.cursor.call()[1] or f"{name}()"
    if kind == "assertion" and instruction is not None and instruction.arguments:
        text = body.module.literal(instruction.arguments[0].operand) or written
    node, start = body.draft.node(), body.cursor.condition_start()
    body.emit(Assume(build.TRUE), text=written, target=node)
    span, statement = body.cursor.span, body.cursor.statement
    body.draft.error(node, kind, span, text, statement=statement, function=name, start=start)
    body.stop()


def lower_check(body: Body, instruction: ir.Call, name: str) -> None:
    """Lower the call of a handler; its arguments are the condition that must hold, and the description of the
    operation (`model.flow`). A check in a probe is an error site only if the probe is an invariant."""
    condition = instruction.arguments[0].operand
    if len(instruction.arguments) != 2 or condition.type is not body.module.types.integer(1):
        raise Unmodelled("unsupported-check", f"the check `{name}`")
    if name in (QUOTIENT, DIVISOR) and _is_floating(body.module, instruction.arguments[1].operand):
        name = f"{HANDLER}float_division_by_zero"
    holds = body.truth(value_of(body, condition))
    if name == QUOTIENT and holds is build.TRUE:
        return  # a constant divisor: Clang says which check it is only by the condition
    if body.cursor.probe is None:
        kind = _kind(body, name)
        body.cursor.describe(_claim(body, instruction.location, kind))
        body.claim(holds, kind, body.cursor.text)
    elif body.unit.rules.invariants:
        claim_in_probe(body, holds, UNDEFINED)


def _is_floating(module: Module, description: Operand) -> bool:
    """Return whether the operands of a checked quotient are floating-point numbers. Its description is a
    place and a type, and the description of a type starts with 1 if the type is floating."""
    match _initialiser(module, description):
        case ir.Aggregate(parts=[_, type_]):
            match _initialiser(module, type_):
                case ir.Aggregate(parts=[ir.Integer(value=kind), *_]):
                    return kind == 1
    raise Unmodelled("unsupported-check", "a check of a quotient without a type")


def _initialiser(module: Module, operand: Operand) -> Operand | None:
    variable = module.globals.get(operand.name) if isinstance(operand, Symbol) else None
    return None if variable is None else module.initialiser(variable)


def claim_folded(body: Body, name: str, condition: Expr) -> None:
    """Make an error site for a check in a library function that is folded into the present step."""
    kind = _kind(body, name)
    body.claim(condition, kind, _claim(body, None, kind)[1])


def _kind(body: Body, name: str) -> str:
    """Return the kind of error that a handler reports; refuse handlers of other properties."""
    handler = name.removeprefix("__ubsan_handle_").removesuffix("_abort")
    for asked in body.unit.rules.kind.split(","):
        sanitizer = SANITIZERS.get(asked)
        if sanitizer is not None and re.fullmatch(sanitizer.handlers, handler) is not None:
            return sanitizer.kind
    raise Unmodelled("unsupported-check", f"the check `{handler}`")


def _claim(body: Body, location: int | None, kind: str) -> tuple[Span | None, str]:
    """Return the span of the operation that is checked at a debug location, and the claim in words."""
    index = kind == "array-bounds"
    find = partial(expressions.place, subscripts=1) if index else expressions.operation
    part, cursor = body.unit.sources.part(location, find), body.cursor
    span, text = part or (cursor.span, cursor.text)
    return span, CLAIMS[kind].format(text)


def claim_in_probe(body: Body, holds: Expr, text: str, *, always: bool = False) -> None:
    """Make it an error of the present probe if a condition does not hold."""
    if holds is build.TRUE and not always:
        return
    after, failed, kind = body.draft.node(), body.draft.node(), body.cursor.text
    at = body.at
    for term, target, side in ((holds, after, True), (build.not_(holds), failed, False)):
        body.at = at
        body.emit(Assume(term), target=target, branch=side)
    body.draft.error(failed, kind, body.cursor.span, text, statement=body.cursor.statement)
    body.at = after


# --------------------------------------------------------------------------------- memory accesses


@dataclass(frozen=True, slots=True)
class Checked:
    """Bytes that were found valid: from `start` to `end`, relative to an address. They stay so until
    something is called or ends, or a variable of the address changes."""

    base: Expr
    start: int
    end: int
    writable: bool

    def covers(self, base: Expr, offset: int, size: int, access: Access) -> bool:
        """Return whether an access is to these bytes."""
        inside = self.start <= offset and offset + size <= self.end
        return base is self.base and inside and (access == "read" or (access == "write" and self.writable))

    def survives(self, op: BasicOp) -> bool:
        """Return whether the bytes are still valid after a step."""
        if isinstance(op, Call | Free):
            return False
        written = targets(op)
        return not written or not any(variable in written for variable in variables(self.base))


def is_checked(body: Body, access: Access) -> bool:
    """Return whether invalid accesses of this sort are errors here."""
    trusted = not body.unit.is_program(body.module) and _TRUSTED.fullmatch(body.name.removeprefix("$"))
    return _ACCESSES[access] in body.unit.rules.memory and not trusted


def check(body: Body, address: Expr, size: int | Expr, access: Access) -> None:
    """Make an invalid access to `size` bytes an error."""
    if not is_checked(body, access):
        return
    count = build.integer(size) if isinstance(size, int) else size
    if count is NULL or is_valid(body, address, count, access):
        return
    if body.cursor.probe is not None:
        if body.unit.rules.invariants:
            claim_in_probe(body, inspected(body, address, count, access), UNDEFINED)
        return
    valid = inspected(body, address, count, access)
    body.claim(valid, _ACCESSES[access], _words(body, access, count))
    if count.kind is Kind.CONST:
        base, offset = split(address)
        body.checked.append(Checked(base, offset, offset + int(count.value), access == "write"))


def check_constant(body: Body, pointer: Operand, size: int) -> None:
    """Make it an error to write `size` bytes to a static variable without memory if the variable is
    constant. Whether it is depends on its definition, which may be in no file of the program."""
    if isinstance(pointer, Symbol) and is_checked(body, "write"):
        home, name = body.unit.symbols.resolve(body.module, pointer.name)
        variable = home.globals[name]
        if variable.constant:
            writable: Expr = build.FALSE
            if variable.initialiser is None:
                what = f"`{name}`, which no file defines and which may be constant"
                writable = body.havoc(BOOL, approximates=what)
            body.claim(writable, WRITE, _words(body, "write", build.integer(size)))


def check_free(body: Body, address: Expr) -> None:
    """Make it an error if an address is neither null nor the start of a live object on the heap."""
    if is_checked(body, "free") and address is not NULL:
        valid = inspected(body, address, NULL, "free")
        body.claim(valid, FREE, f"{body.cursor.text} gets null or an object that `malloc` made")


def when_valid(body: Body, address: Expr, size: int | Expr, steps: Callable[[], None]) -> None:
    """Take steps that write `size` bytes; if they are errors elsewhere, only where they are valid: nothing is
    known about the accesses of a function without a body."""
    count = build.integer(size) if isinstance(size, int) else size
    if not is_checked(body, "write") or is_valid(body, address, count, "write"):
        steps()
    else:
        body.when(inspected(body, address, count, "write"), steps)


def inspected(body: Body, address: Expr, count: Expr, access: Access) -> Expr:
    """Ask whether an access is valid; return the answer."""
    valid = body.fresh(BOOL)
    body.emit(Inspect(valid, address, count, access))
    return valid


def is_valid(body: Body, address: Expr, count: Expr, access: Access) -> bool:
    """Return whether an access is valid by construction."""
    if count.kind is not Kind.CONST:
        return False
    base, offset = split(address)
    if any(each.covers(base, offset, int(count.value), access) for each in body.checked):
        return True
    extent = body.extents.get(base)
    if extent is None:
        static = body.unit.symbols.objects.get(base)
        if static is None or (access == "write" and static.variable.constant):
            return False
        extent = static.extent
    return offset >= 0 and offset + int(count.value) <= extent


def split(address: Expr) -> tuple[Expr, int]:
    """Return an address as a term and a constant offset."""
    if address.kind is not Kind.ADD:
        return address, 0
    offset = sum(int(term.value) for term in address.args if term.kind is Kind.CONST)
    return build.sub(address, build.integer(offset)), offset


def _words(body: Body, access: Access, count: Expr) -> str:
    """Describe an access in words."""
    number = f"{count.value} byte{'s' * (count.value != 1)}" if count.kind is Kind.CONST else "bytes"
    by = body.cursor.text if body.unit.is_program(body.module) else body.name.removeprefix("$")
    return f"{access} of {number} by {by}" if by and "__certus" not in by else f"{access} of {number}"


# ------------------------------------------------------------------------------------------- the heap


def check_heap(body: Body, unless: str = "") -> None:
    """Check the objects on the heap where the program ends. `unless` says what may keep it from ending here;
    then no counterexample ends here."""
    unit = body.unit
    kinds = [each for each in _HEAP if each[0] in unit.rules.memory]
    if not kinds or not unit.environment.allocates or body.name in ASSUMING:
        return
    if unless:
        body.bar_counterexamples(unless)
    for kind, retained, text in kinds:
        if retained == "tracked" and unit.environment.strangers:
            escaped = build.eq(unit.library.variable(_ESCAPED, U8), build.constant(1, U8))
            body.when(escaped, lambda: body.bar_counterexamples("what a function without a body keeps"))
        kept = body.fresh(BOOL)
        body.emit(InspectHeap(kept, retained))
        body.claim(kept, kind, text)


def end(body: Body) -> None:
    """End the program here."""
    check_heap(body)
    body.stop()


def note_escape(body: Body, address: Expr) -> None:
    """Note that a function without a body has got a pointer, which it may keep: no counterexample may rely on
    an object being lost after that."""
    if LEAK in body.unit.rules.memory and split(address)[0] not in body.extents:
        flag = body.unit.library.variable(_ESCAPED, U8)
        body.registers.assign(flag, build.constant(1, U8))

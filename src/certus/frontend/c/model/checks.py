"""The checks of Clang's sanitizers: a call of a handler is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Assume
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.model import probing
from certus.frontend.c.model.terms import Unmodelled
from certus.frontend.c.source import expressions

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_KINDS: Final = {
    "no-overflow": (
        "overflow",
        "add_overflow sub_overflow mul_overflow negate_overflow divrem_overflow shift_out_of_bounds",
    ),
    "no-div-zero": ("division-by-zero", "divrem_overflow"),
}


def failed(body: Body, instruction: ir.Call, name: str) -> None:
    """A check fails here."""
    handler = name.removeprefix("__ubsan_handle_").removesuffix("_abort")
    kind, handlers = _KINDS.get(body.unit.rules.kind, ("", ""))
    if handler not in handlers.split():
        raise Unmodelled("unsupported-check", f"the check `{handler}`")
    if body.probe is not None:
        probing.failed_check(body, body.probe)
        return
    words = claimed(body, instruction)
    body.say(words)
    node = body.draft.node()
    body.emit(Assume(build.TRUE), target=node)
    start = None if body.statement is None else body.begun.get(body.statement)
    body.draft.error(node, kind, words[0], words[1], statement=body.statement, start=start)
    body.stop()


def claimed(body: Body, instruction: ir.Instruction) -> tuple[Span | None, str]:
    """Return where a check is, and what it claims."""
    found = body.unit.sources.part(instruction.location, expressions.operation)
    span, text = (body.span, body.text) if found is None else found
    if body.unit.rules.kind == "no-div-zero":
        return span, f"the divisor of {text} is not 0"
    return span, f"{text} does not overflow"

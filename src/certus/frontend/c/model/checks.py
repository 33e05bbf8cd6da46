"""The checks of Clang's sanitizers: a call of a handler is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Assume
from certus.core.terms import Expr
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
    if body.probe is not None:
        probing.failed_check(body, body.probe)
        return
    kind = _kind(body, name)
    span, text = claimed(body, instruction.location)
    body.say((span, text))
    node, start = body.draft.node(), body.condition_start()
    body.emit(Assume(build.TRUE), target=node)
    body.draft.error(node, kind, span, text, statement=body.statement, start=start)
    body.stop()


def claim(body: Body, name: str, condition: Expr) -> None:
    """A check of a function that is folded fails here, unless the condition holds."""
    body.claim(condition, _kind(body, name), claimed(body, None)[1])


def _kind(body: Body, name: str) -> str:
    handler = name.removeprefix("__ubsan_handle_").removesuffix("_abort")
    kind, handlers = _KINDS.get(body.unit.rules.kind, ("", ""))
    if handler not in handlers.split():
        raise Unmodelled("unsupported-check", f"the check `{handler}`")
    return kind


def claimed(body: Body, location: int | None) -> tuple[Span | None, str]:
    """Return where the check at a debug location is, and what it claims."""
    found = body.unit.sources.part(location, expressions.operation)
    span, text = (body.span, body.text) if found is None else found
    if body.unit.rules.kind == "no-div-zero":
        return span, f"the divisor of {text} is not 0"
    return span, f"{text} does not overflow"

"""The checks of Clang's sanitizers: a call of a handler is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Assume
from certus.core.terms import Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.model.terms import Unmodelled

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
    kind, claimed = _claimed(body, name)
    node = body.draft.node()
    body.emit(Assume(build.TRUE), target=node)
    body.draft.error(node, kind, body.span, claimed, statement=body.statement, start=body.condition)
    body.stop()


def claim(body: Body, name: str, condition: Expr) -> None:
    """A check of a function that is folded fails here, unless the condition holds."""
    kind, claimed = _claimed(body, name)
    body.claim(condition, kind, claimed)


def _claimed(body: Body, name: str) -> tuple[str, str]:
    handler = name.removeprefix("__ubsan_handle_").removesuffix("_abort")
    kind, handlers = _KINDS.get(body.unit.rules.kind, ("", ""))
    if handler not in handlers.split():
        raise Unmodelled("unsupported-check", f"the check `{handler}`")
    text = body.text
    return (
        kind,
        f"the divisor of {text} is not 0" if kind == "division-by-zero" else f"{text} does not overflow",
    )

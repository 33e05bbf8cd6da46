"""Integers that become pointers."""

from __future__ import annotations

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Assign
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c.lower.body import Body


def from_integer(body: Body, term: Expr, span: Span) -> Expr:
    """An integer as a pointer: the pointer it was converted from, where that is plain to see, and otherwise
    the address it is. A variable holds that address, so that the partition of memory can say what it may
    point to: objects whose addresses became integers."""
    found = body.pointer(term)
    if found is None:
        found = body.fresh(INT)
        address = build.to_int(build.wrap(term, body.world.pointer_sort))
        body.emit(Assign((found,), (address,)), span, body.text(span))
    return found

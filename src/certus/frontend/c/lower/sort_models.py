"""Models of `qsort` and `bsearch`. The comparison is called any number of times, on any two elements, and the
order they end in is not computed: in proofs anything is possible, and no counterexample may depend on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from certus.core import build
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import places
from certus.frontend.c.lower.arguments import arguments, havoc_elements, pointed_to
from certus.frontend.c.lower.body import Body, IndirectCall
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import INT_SORT, NULL, U8
from certus.frontend.c.types import (
    INT_TYPE,
    FunctionType,
    PointerType,
    Qualified,
    VoidType,
    unqualified,
)

_ELEMENT: Final = PointerType(Qualified(VoidType(), const=True))
_COMPARISON: Final = FunctionType(INT_TYPE, (_ELEMENT, _ELEMENT))


def sort(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
    base, count, size, compare = yield from arguments(body, node)
    one, other = body.fresh(INT), body.fresh(INT)

    def compared() -> None:
        _permuted(body, node, base, count, size)
        for element in (one, other):
            body.assign(element, _element(body, node, base, count, size), node.span, body.text(node.span))
        _call(body, node, compare, (one, other))

    _any_number_of_times(body, node, compared)
    _permuted(body, node, base, count, size)


def search_sorted(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    key, base, count, size, compare = yield from arguments(body, node)
    text = body.text(node.span)
    element = body.fresh(INT)

    def compared() -> None:
        body.assign(element, _element(body, node, base, count, size), node.span, text)
        _call(body, node, compare, (key, element))

    _any_number_of_times(body, node, compared)
    found = _element(body, node, base, count, size)
    choice = body.havoc(U8, node.span, text, approximates=_what(node))
    return build.ite(build.eq(choice, build.constant(0, U8)), NULL, found)


def _what(node: ast.Call) -> str:
    return f"what `{'bsearch' if len(node.arguments) > 4 else 'qsort'}` does"


def _any_number_of_times(body: Body, node: ast.Call, steps: Callable[[], None]) -> None:
    text = body.text(node.span)
    head, inside, after = (body.draft.node() for _ in range(3))
    body.draft.skip(body.at, head)
    body.at = head
    again = body.havoc(U8, node.span, text, approximates=_what(node))
    body.branch(build.ne(again, build.constant(0, U8)), inside, after, node.span, text, source_branch=False)
    body.at = inside
    steps()
    body.draft.skip(body.at, head)
    body.at = after
    body.wrote_anything()


def _permuted(body: Body, node: ast.Call, base: Expr, count: Expr, size: Expr) -> None:
    """The elements get any contents."""
    target = pointed_to(node.arguments[0])
    width = 1
    if target is not None and not isinstance(unqualified(target), VoidType):
        width, _ = places.element(body.world, target)
    total = build.mul(build.to_int(count), build.to_int(size))
    if width > 1:
        total = build.div(total, build.integer(width))
    havoc_elements(body, base, total, width, node.span, _what(node))


def _element(body: Body, node: ast.Call, base: Expr, count: Expr, size: Expr) -> Expr:
    """The address of any element."""
    text = body.text(node.span)
    index = body.havoc(INT, node.span, text, approximates=_what(node))
    body.assume(build.lt(index, build.to_int(count)), node.span, text)
    return build.add(base, build.mul(build.to_int(size), index))


def _call(body: Body, node: ast.Call, function: Expr, given: tuple[Expr, ...]) -> None:
    after = body.draft.node()
    call = IndirectCall(
        body,
        body.at,
        after,
        function,
        _COMPARISON,
        given,
        (_ELEMENT, _ELEMENT),
        body.fresh(INT_SORT),
        node.span,
        body.text(node.span),
        body.draft.reserve(),
    )
    body.world.indirect.append(call)
    body.wrote_anything()
    body.at = after

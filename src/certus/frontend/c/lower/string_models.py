"""Models of <string.h>."""

from __future__ import annotations

from typing import Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Call
from certus.core.sorts import INT
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import routines
from certus.frontend.c.lower.arguments import (
    arguments,
)
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.memory_models import new_object
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import U8, integer_sort

_NO_LIMIT: Final = build.integer(-1)


def compare(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    a, b, *limit = yield from arguments(body, node)
    count = build.to_int(limit[0]) if limit and entry.name != "strcmp" else _NO_LIMIT
    routine = routines.compare_routine(body.world, strings=entry.name.startswith("str"))
    result = body.fresh(integer_sort(node.type))
    body.emit(Call(routine, (a, b, count), (result,)), node.span, body.text(node.span))
    return result


def length(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    s, *limit = yield from arguments(body, node)
    known = node.arguments[0]
    while isinstance(known, ast.Cast):
        known = known.operand
    if isinstance(known, ast.StringLiteral) and not limit:
        sort = integer_sort(node.type)
        return build.constant(known.data.index(0), sort)
    count = build.to_int(limit[0]) if limit else _NO_LIMIT
    return build.wrap(_string_length(body, s, count, node.span), integer_sort(node.type))


def _string_length(body: Body, s: Expr, limit: Expr, span: Span) -> Expr:
    result = body.fresh(INT)
    routine = routines.length_routine(body.world)
    body.emit(Call(routine, (s, limit), (result,)), span, body.text(span))
    return result


def copy_string(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    to, source, *limit = yield from arguments(body, node)
    text, world = body.text(node.span), body.world
    if entry.name == "strncpy":
        routine, start = routines.pad_string_routine(world), to
        count = build.to_int(limit[0])
    else:
        routine, start = routines.copy_string_routine(world), to
        count = build.to_int(limit[0]) if entry.name == "strncat" else _NO_LIMIT
        if entry.name in ("strcat", "strncat"):
            start = build.add(to, _string_length(body, to, _NO_LIMIT, node.span))
    body.emit(Call(routine, (start, source, count), ()), node.span, text)
    if entry.name == "stpcpy":
        return build.add(to, _string_length(body, to, _NO_LIMIT, node.span))
    return to


def duplicate(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    source, *limit = yield from arguments(body, node)
    count = build.to_int(limit[0]) if limit else _NO_LIMIT
    length = _string_length(body, source, count, node.span)
    made = new_object(body, build.add(length, build.integer(1)), node.span)
    routine = routines.copy_string_routine(body.world)
    body.emit(Call(routine, (made, source, length), ()), node.span, body.text(node.span))
    return made


def find(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    s, wanted_character, *limit = yield from arguments(body, node)
    count = build.to_int(limit[0]) if limit else _NO_LIMIT
    name = {"index": "strchr", "rindex": "strrchr"}.get(entry.name, entry.name)
    result = body.fresh(INT)
    passed = (s, build.wrap(wanted_character, U8), count)
    routine = routines.find_routine(body.world, name)
    body.emit(Call(routine, passed, (result,)), node.span, body.text(node.span))
    return result


def span_length(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    s, characters_ = yield from arguments(body, node)
    result = body.fresh(INT)
    routine = routines.span_routine(body.world, within=entry.name == "strspn")
    body.emit(Call(routine, (s, characters_), (result,)), node.span, body.text(node.span))
    return build.wrap(result, integer_sort(node.type))

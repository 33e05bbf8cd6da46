"""Models of <string.h> and of functions that read input into memory."""

from __future__ import annotations

import re
from typing import Any, Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Call
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import routines
from certus.frontend.c.lower.arguments import (
    any_result,
    arguments,
    havoc_elements,
    havoc_memory,
    havoc_some,
    pointed_to,
)
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.memory_models import new_object
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import NULL, U8, integer_sort, sort_of
from certus.frontend.c.types import CType, VoidType, unqualified

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


# --------------------------------------------------------------------------------------- input


def scan(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """The result is the number of conversions that succeed, or -1; for each that does, what its pointer
    points to gets any value. That comes from outside, unless a string is read, or the format is not
    understood: then nothing is known of it, and any of the targets may be written."""
    given = yield from arguments(body, node)
    first = 1 if entry.name.endswith("_scanf") or entry.name == "scanf" else 2
    targets = node.arguments[first:]
    kinds = _conversions(node.arguments[first - 1], len(targets))
    unknown = "" if kinds and not entry.name.endswith("sscanf") else f"what `{entry.name}` reads"
    text, sort = body.text(node.span), integer_sort(node.type)
    result = body.havoc(sort, node.span, text, entry.name, unknown)
    least, most = build.constant(-1, sort), build.constant(len(targets), sort)
    body.assume(build.and_(build.le(least, result), build.le(result, most)), node.span, text)
    for number, argument in enumerate(targets):
        kind = kinds[number] if kinds else "text"
        converted, after = body.draft.node(), body.draft.node()
        if kinds:
            success = build.lt(build.constant(number, sort), result)
        else:
            success = build.eq(body.havoc(U8, node.span, text, approximates=unknown), build.constant(0, U8))
        body.branch(success, converted, after, node.span, text, source_branch=False)
        body.at = converted
        what = unknown or ("" if kind == "any" else "the text that a function of the `scanf` family reads")
        _written(body, argument, given[first + number], what, single=kind != "text")
        body.draft.skip(body.at, after)
        body.at = after
    body.wrote_anything()
    return result


def _conversions(node: ast.Expression, number: int) -> list[str]:
    """What each of a number of targets gets by a format: `any` value of its type, `some`, if a width limits
    it, or `text`. Nothing if the format is no literal, or its conversions are others."""
    while isinstance(node, ast.Cast):
        node = node.operand
    if not isinstance(node, ast.StringLiteral):
        return []
    found = _CONVERSION.findall(node.data.rstrip(b"\0").decode("latin-1"))
    stored = [(width, letter) for skip, width, letter in found if not skip]
    if len(stored) != number or any(letter == "n" for _, letter in stored):
        return []
    return [
        "text" if letter in "s[SC" or (letter == "c" and width) else "some" if width else "any"
        for width, letter in stored
    ]


_CONVERSION: Final = re.compile(r"%(\*?)(\d*)(?:hh?|ll?|[jztLqm])?([a-zA-Z\[])")


_PRINTED: Final = "the text that a function of the `printf` family writes"


def _written(body: Body, argument: ast.Expression, term: Expr, approximates: str, *, single: bool) -> None:
    """The object an argument points to gets any contents: `single` objects are of the pointer's type, a
    character is otherwise the first of a string that nobody knows the length of."""
    target = pointed_to(argument)
    text = unqualified(target) if target is not None else None
    unknown = text is None or isinstance(text, VoidType) or (not single and text == _plain_char(text))
    if not unknown and target is not None:
        havoc_memory(body, term, target, argument.span, approximates)
    else:
        havoc_some(body, term, argument.span, approximates)


def _plain_char(type_: CType) -> CType | None:
    """The type itself if it is a character: then a pointer to it is likely one to a string."""
    sort = sort_of(type_)
    return type_ if isinstance(sort, MachineSort) and sort.width == 8 else None


def read_input(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """A number of bytes is read into memory: as many as the result says."""
    given = yield from arguments(body, node)
    text = body.text(node.span)
    if entry.name.startswith("fgets"):
        return _read_line(body, node, given[0], build.to_int(given[1]))
    if entry.name == "__VERIFIER_nondet_memory":
        havoc_elements(body, given[0], build.to_int(given[1]), 1, node.span)
        return None
    by_elements = entry.name.startswith("fread")
    to, count = (given[0], build.to_int(given[2])) if by_elements else (given[1], build.to_int(given[2]))
    size = build.to_int(given[1]) if by_elements else build.integer(1)
    sort = integer_sort(node.type)
    result = body.havoc(sort, node.span, text, entry.name)
    least = build.integer(0 if by_elements else -1)
    number = build.to_int(result)
    body.assume(build.and_(build.le(least, number), build.le(number, count)), node.span, text)
    havoc_elements(body, to, build.mul(number, size), 1, node.span)
    if by_elements:  # what is left of an element that ends early has no known value
        rest = build.ite(build.lt(number, count), size, NULL)
        havoc_elements(body, build.add(to, build.mul(number, size)), rest, 1, node.span, _PARTIAL)
    return result


_PARTIAL: Final = "what `fread` leaves of an element it did not read"


def _read_line(body: Body, node: ast.Call, to: Expr, size: Expr) -> Expr:
    """`fgets`: less than `size` characters, the last of which may be a newline, and a zero; null at the end
    of the input, or if that cannot be read, when the contents are anything."""
    text, result = body.text(node.span), body.fresh(INT)
    failed = build.eq(body.havoc(U8, node.span, text), build.constant(0, U8))
    null, some, after = (body.draft.node() for _ in range(3))
    body.branch(failed, null, some, node.span, text, source_branch=False)
    body.at = null
    havoc_elements(body, to, size, 1, node.span, "what `fgets` leaves when it fails")
    body.assign(result, NULL, node.span, text)
    body.draft.skip(body.at, after)
    body.at = some
    routine = routines.line_routine(body.world)
    body.emit(Call(routine, (to, size), ()), node.span, text)
    body.assign(result, to, node.span, text)
    body.draft.skip(body.at, after)
    body.at = after
    return result


def print_string(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """The text is not computed: the buffer gets any contents."""
    given = yield from arguments(body, node)
    if entry.name.endswith("snprintf"):
        havoc_elements(body, given[0], build.to_int(given[1]), 1, node.span, _PRINTED)
    else:
        _written(body, node.arguments[0], given[0], _PRINTED, single=False)
    return any_result(body, node) if wanted else None

"""Models of functions that read input, draw random numbers, or print.

What is read comes from outside, so a counterexample may choose it, but not all of it: what the program itself
put there is read back, and a number ends before what is no digit. Such ways are open to proofs alone
(`doubtful`).
"""

from __future__ import annotations

import re
from typing import Any, Final

from certus.core import build
from certus.core.program import Call, Store
from certus.core.sorts import INT, MachineSort
from certus.core.terms import Expr, Kind
from certus.frontend.c import ast
from certus.frontend.c.library import Entry
from certus.frontend.c.lower import places, routines
from certus.frontend.c.lower.arguments import (
    any_result,
    arguments,
    doubtful,
    evaluated,
    havoc_elements,
    havoc_memory,
    havoc_some,
    havoc_up_to,
    pointed_to,
)
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.effects import write_target
from certus.frontend.c.lower.steps import Steps
from certus.frontend.c.lower.values import NULL, U8, integer_sort, sort_of
from certus.frontend.c.types import UNSIGNED_CHAR, CType, IntegerType, VoidType, unqualified

_ONE: Final = build.constant(1, U8)
_ZERO: Final = build.constant(0, U8)

# who mentions one of these may read what it wrote
_WRITTEN_BACK: Final = ("ungetc", "tmpfile", "tmpfile64", "fmemopen", "pipe", "pipe2", "socketpair")
_SCANNERS: Final = (
    "scanf",
    "fscanf",
    "__isoc99_scanf",
    "__isoc99_fscanf",
    "__isoc23_scanf",
    "__isoc23_fscanf",
)
_SEEDERS: Final = ("srand", "srandom", "srand48")


def _doubtful_if(body: Body, node: ast.Call, condition: Expr, why: str) -> None:
    doubt, after = body.draft.node(), body.draft.node()
    body.branch(condition, doubt, after, node.span, body.text(node.span), source_branch=False)
    body.at = doubt
    doubtful(body, node.span, why)
    body.draft.skip(body.at, after)
    body.at = after


class _Flag:
    """A byte that the library keeps; 0 at the start."""

    def __init__(self, body: Body, node: ast.Call, name: str) -> None:
        self._body, self._node = body, node
        self._at = body.world.library_static(name, bytes(1), node.span)

    def read(self) -> Expr:
        return places.read(self._body, places.at_address(UNSIGNED_CHAR, self._at), self._node.span)

    def write(self, value: Expr) -> None:
        self._body.emit(Store(self._at, value), self._node.span, self._body.text(self._node.span))


def _what(entry: Entry) -> str:
    return f"what `{entry.name}` reads"


def _begin(body: Body, node: ast.Call, entry: Entry) -> None:
    if body.world.mentions(*_WRITTEN_BACK):
        doubtful(body, node.span, _what(entry))


# --------------------------------------------------------------------------------------- numbers


def natural(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """`rand`: after a seed has been given anew the numbers may be those that were drawn before."""
    yield from arguments(body, node)
    if body.world.mentions(*_SEEDERS):
        again = build.eq(_Flag(body, node, "rand$again").read(), _ONE)
        _doubtful_if(body, node, again, f"the result of `{entry.name}` after a new seed")
        _Flag(body, node, "rand$drawn").write(_ONE)
    result = any_result(body, node)
    sort = sort_of(node.type)
    if not isinstance(sort, MachineSort):  # declared otherwise than in the library
        return result
    low, high = build.constant(0, sort), build.constant(min(2**31 - 1, sort.high), sort)
    in_range = build.and_(build.le(low, result), build.le(result, high))
    body.assume(in_range, node.span, body.text(node.span))
    return result


def seed(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[None]:
    yield from arguments(body, node)
    _Flag(body, node, "rand$again").write(_Flag(body, node, "rand$drawn").read())


# ----------------------------------------------------------------------------- characters, blocks


def character(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Expr]:
    """A character, or -1 at the end of the input."""
    yield from arguments(body, node)
    _begin(body, node, entry)
    sort, text = integer_sort(node.type), body.text(node.span)
    if body.world.mentions(*_SCANNERS):  # it may follow a number
        ended = build.eq(body.havoc(U8, node.span, text), _ZERO)
        value = build.wrap(body.havoc(U8, node.span, text, entry.name, _what(entry)), sort)
        return build.ite(ended, build.constant(-1, sort), value)
    result = body.havoc(sort, node.span, text, entry.name)
    low, high = build.constant(-1, sort), build.constant(255, sort)
    body.assume(build.and_(build.le(low, result), build.le(result, high)), node.span, text)
    return result


def block(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """A number of bytes is read into memory: as many as the result says."""
    given = yield from arguments(body, node)
    text = body.text(node.span)
    if entry.name == "__VERIFIER_nondet_memory":
        havoc_elements(body, given[0], build.to_int(given[1]), 1, node.span)
        return None
    _begin(body, node, entry)
    if body.world.mentions(*_SCANNERS):
        doubtful(body, node.span, _what(entry))
    if entry.name.startswith("fgets"):
        return _line(body, node, given[0], build.to_int(given[1]))
    by_elements = entry.name.startswith("fread")
    to, count = (given[0], build.to_int(given[2])) if by_elements else (given[1], build.to_int(given[2]))
    size = build.to_int(given[1]) if by_elements else build.integer(1)
    sort = integer_sort(node.type)
    result = body.havoc(sort, node.span, text, entry.name)
    number = build.to_int(result)
    if by_elements:
        least, most = NULL, build.ite(build.eq(size, NULL), NULL, count)
    else:
        closed = build.lt(given[0], build.constant(0, given[0].sort))
        least, most = build.integer(-1), build.ite(closed, build.integer(-1), count)
    body.assume(build.and_(build.le(least, number), build.le(number, most)), node.span, text)
    havoc_elements(body, to, build.mul(number, size), 1, node.span)
    if by_elements:  # what is left of an element that ends early has no known value
        rest = build.ite(build.lt(number, count), size, NULL)
        havoc_elements(body, build.add(to, build.mul(number, size)), rest, 1, node.span, _PARTIAL)
    return result


_PARTIAL: Final = "what `fread` leaves of an element it did not read"


def _line(body: Body, node: ast.Call, to: Expr, size: Expr) -> Expr:
    """`fgets`: less than `size` characters, the last of which may be a newline, and a zero; null at the end
    of the input, or if that cannot be read, when the contents are anything. Nothing is read where there is no
    room for it."""
    text, result = body.text(node.span), body.fresh(INT)
    room = size.kind is Kind.CONST and int(size.value) > 1
    unknown = "" if room else "the result of `fgets` where there is no room"
    failed = build.eq(body.havoc(U8, node.span, text, approximates=unknown), _ZERO)
    null, some, after = (body.draft.node() for _ in range(3))
    body.branch(failed, null, some, node.span, text, source_branch=False)
    body.at = null
    havoc_up_to(body, node.arguments[0], to, size, node.span, "what `fgets` leaves when it fails")
    body.assign(result, NULL, node.span, text)
    body.draft.skip(body.at, after)
    body.at = some
    routine = routines.line_routine(body.world)
    body.emit(Call(routine, (to, size), ()), node.span, text)
    body.assign(result, to, node.span, text)
    body.draft.skip(body.at, after)
    body.at = after
    return result


# ------------------------------------------------------------------------------------------- scanf


def scan(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """The result is the number of conversions that succeed, or -1; for each that does, what its pointer
    points to gets any value. That comes from outside, unless a string is read, or the format is not
    understood: then nothing is known of it, and any of the targets may be written. Where no conversion
    succeeded the input is what it was, and none will if it is tried again."""
    given = yield from arguments(body, node)
    first = 1 if entry.name.endswith("_scanf") or entry.name == "scanf" else 2
    targets = node.arguments[first:]
    kinds = _conversions(node.arguments[first - 1], len(targets))
    outside = bool(kinds) and not entry.name.endswith("sscanf")
    unknown = "" if outside else _what(entry)
    text, sort = body.text(node.span), integer_sort(node.type)
    if outside:
        _begin(body, node, entry)
    result = body.havoc(sort, node.span, text, entry.name, unknown)
    least, most = build.constant(-1, sort), build.constant(len(targets), sort)
    body.assume(build.and_(build.le(least, result), build.le(result, most)), node.span, text)
    if outside:
        _tried_again(body, node, entry, result)
    for number, argument in enumerate(targets):
        kind = kinds[number] if kinds else "text"
        converted, after = body.draft.node(), body.draft.node()
        if kinds:
            success = build.lt(build.constant(number, sort), result)
        else:
            success = build.eq(body.havoc(U8, node.span, text, approximates=unknown), _ZERO)
        body.branch(success, converted, after, node.span, text, source_branch=False)
        body.at = converted
        what = unknown or ("" if kind == "any" else "the text that a function of the `scanf` family reads")
        _written(body, argument, given[first + number], what, single=kind != "text")
        body.draft.skip(body.at, after)
        body.at = after
    body.wrote_anything()
    return result


def _tried_again(body: Body, node: ast.Call, entry: Entry, result: Expr) -> None:
    failed, zero = _Flag(body, node, "scanf$failed"), build.constant(0, result.sort)
    other = build.and_(build.eq(failed.read(), _ONE), build.lt(zero, result))
    _doubtful_if(body, node, other, f"the result of `{entry.name}` after it failed")
    failed.write(build.ite(build.eq(result, zero), _ONE, _ZERO))


def _conversions(node: ast.Expression, number: int) -> list[str]:
    """What each of a number of targets gets by a format: `any` value of its type, `some`, if a width limits
    it, or it is a character (which may follow a number, or spaces), or `text`. Nothing if the format is no
    literal, or its conversions are others."""
    found = _CONVERSION.findall(_literal(node) or "")
    stored = [(width, letter) for skip, width, letter in found if not skip]
    if len(stored) != number or any(letter == "n" for _, letter in stored):
        return []
    return [
        "text"
        if letter in "s[SC" or (letter == "c" and width)
        else "some"
        if width or letter == "c"
        else "any"
        for width, letter in stored
    ]


_CONVERSION: Final = re.compile(r"%(\*?)(\d*)(?:hh?|ll?|[jztLqm])?([a-zA-Z\[])")


def _literal(node: ast.Expression) -> str | None:
    """The text of a string literal."""
    while isinstance(node, ast.Cast):
        node = node.operand
    return node.data.rstrip(b"\0").decode("latin-1") if isinstance(node, ast.StringLiteral) else None


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


# ------------------------------------------------------------------------------------------ printf


def output(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """Printing has no effect on the program's memory, but that of `%n`."""
    counted = counters(node, entry)
    if counted:
        given = yield from arguments(body, node)
        _count(body, node, given, counted)
    else:
        for argument in node.arguments:
            yield evaluated(body, argument)
    return any_result(body, node) if wanted else None


def print_string(body: Body, node: ast.Call, entry: Entry, wanted: bool) -> Steps[Any]:
    """The text is not computed: the buffer gets any contents."""
    given = yield from arguments(body, node)
    if entry.name.endswith("snprintf"):
        havoc_up_to(body, node.arguments[0], given[0], build.to_int(given[1]), node.span, _PRINTED)
    else:
        _written(body, node.arguments[0], given[0], _PRINTED, single=False)
    _count(body, node, given, counters(node, entry))
    return any_result(body, node) if wanted else None


_PRINTED: Final = "the text that a function of the `printf` family writes"
_FORMATS: Final = {  # which argument is the format
    **dict.fromkeys(("printf", "wprintf", "printk"), 0),
    **dict.fromkeys(("fprintf", "fwprintf", "dprintf", "syslog", "sprintf"), 1),
    "snprintf": 2,
}
_COUNT: Final = re.compile(r"%[-+ #0-9.*]*(?:hh?|ll?|[jztLq])?n")


def counters(node: ast.Call, entry: Entry) -> list[int]:
    """The arguments that may be the targets of `%n`: pointers to integers, unless the format has none."""
    at = _FORMATS.get(entry.name)
    text = None if at is None or at >= len(node.arguments) else _literal(node.arguments[at])
    if text is not None and not _COUNT.search(text.replace("\0", "")):  # as wide characters have
        return []
    return [number for number, argument in enumerate(node.arguments) if _is_counter(argument)]


def _is_counter(argument: ast.Expression) -> bool:
    target = unqualified(pointed_to(argument) or VoidType())
    return isinstance(target, IntegerType) and target.width > 8


def _count(body: Body, node: ast.Call, given: list[Expr], counted: list[int]) -> None:
    for number in counted:
        write_target(body, node.arguments[number], given[number], "what `%n` counts")

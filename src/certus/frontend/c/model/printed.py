"""What functions of the `printf` family access, if accesses are checked: the strings they read, and the bytes
they write to a buffer.

How long the text is depends on the values that are printed. The format bounds the length from below and often
from above: proofs must allow for every length between, and counterexamples rely only on the least one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.sorts import INT
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir.instructions import Symbol
from certus.frontend.c.ir.types import PointerType
from certus.frontend.c.model import nondeterminism
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.nondeterminism import LibraryCall
from certus.frontend.c.model.operands import address_of
from certus.frontend.c.model.terms import NULL, as_sort
from certus.frontend.c.model.validity import check, is_checked

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_CONVERSION: Final = re.compile(
    r"%(?:(%)|([-+ #0']*)(\*|\d*)(?:(\.)(\*|\d*))?(hh|h|ll|l|[jztLq])?([a-zA-Z]))"
)
_LONGEST: Final = build.integer(2**31)  # more characters than any string that is printed has
_DIGITS: Final = {"hh": 3, "h": 5, "": 10}  # of the largest number, in decimals; 20 for longer types
_TEXT: Final = "the length of the text that a function of the `printf` family writes"


@dataclass(frozen=True, slots=True)
class _Conversion:
    """A conversion of a format: its letter, the numbers of the arguments with its value, and with its width
    and its precision if these are arguments (`*`). A width or precision of None is not stated."""

    letter: str
    length: str
    flags: str
    argument: int
    width: int | None
    precision: int | None
    width_argument: int | None
    precision_argument: int | None


def _conversions(text: str, number: int) -> Iterator[_Conversion]:
    """Yield the conversions of a format; `number` is the number of the first argument behind it."""
    for percent, flags, width, dot, precision, length, letter in _CONVERSION.findall(text):
        if percent:
            continue
        arguments: list[int | None] = []
        for stated in (width, precision):
            arguments.append(number if stated == "*" else None)
            number += stated == "*"
        yield _Conversion(
            letter,
            length,
            flags,
            number,
            int(width) if width.isdigit() else None,
            None if not dot or precision == "*" else int(precision or 0),
            *arguments,
        )
        number += 1


# ------------------------------------------------------------------------------------- strings read


def check_strings(call: LibraryCall, format: int | None) -> None:
    """Check the strings that a call reads. Which ones a computed format, or a `va_list`, refers to is not
    known."""
    body = call.body
    if not is_checked(body, "read"):
        return
    text = _literal(call, format)
    if format is None or text is None:
        if format is not None:
            check_string(body, call.address(format))
        for operand in call.arguments[0 if format is None else format + 1 :]:
            if isinstance(operand.type, PointerType):
                what = f"what `{call.name}` reads"
                nondeterminism.read_unknown(body, address_of(body, operand), what)
        return
    for each in _conversions(text, format + 1):
        if each.letter in "sS" and each.argument < len(call.arguments):
            wide = each.letter == "S" or each.length == "l"
            model = "__certus_wide_string" if wide else "__certus_string"
            run_model(body, model, (call.address(each.argument), _most_read(call, each)))


def _most_read(call: LibraryCall, string: _Conversion) -> Expr:
    """Return how many characters of a string are read at most; a negative precision is none."""
    if string.precision_argument is not None:
        stated = call.integer(string.precision_argument)
        return build.ite(build.lt(stated, NULL), _LONGEST, stated)
    return _LONGEST if string.precision is None else build.integer(string.precision)


def check_string(body: Body, address: Expr) -> None:
    """Check the string at an address."""
    run_model(body, "__certus_string", (address, _LONGEST))


# ----------------------------------------------------------------------------------- bytes written


def write(call: LibraryCall, format: int | None, buffer: int, limit: int | None) -> None:
    """Write text to a buffer: at most as many bytes as the argument `limit` says."""
    body, address = call.body, call.address(buffer)
    least, most = _bounds(call, format)
    room = None if limit is None else call.integer(limit)

    def within(count: int) -> Expr:
        term: Expr = build.integer(count)
        return term if room is None else build.ite(build.lt(room, term), room, term)

    check(body, address, within(least), "write")
    if least == most:
        nondeterminism.write_bytes(body, address, within(least), _TEXT)
        return
    count = nondeterminism.any_count(body, _TEXT)
    body.assume(build.le(within(least), count))
    if most is not None:
        body.assume(build.le(count, within(most)))
    elif room is not None:
        body.assume(build.le(count, room))
    check(body, address, count, "write")
    nondeterminism.write_bytes(body, address, count, _TEXT)


def _bounds(call: LibraryCall, format: int | None) -> tuple[int, int | None]:
    """Return bounds of the number of bytes that are written, with the zero at the end."""
    text = _literal(call, format)
    if text is None or format is None:
        return 1, None
    plain = len(_CONVERSION.sub(lambda match: "%" if match[1] else "", text)) + 1
    least = most = plain
    bounded = True
    for each in _conversions(text, format + 1):
        low, high = _bounds_of(call, each)
        width = each.width or 0
        least += max(low, width)
        bounded = bounded and high is not None and each.width_argument is None
        most += max(high or 0, width)
    return least, most if bounded else None


def _bounds_of(call: LibraryCall, each: _Conversion) -> tuple[int, int | None]:
    """Return bounds of the length of a conversion, without its width."""
    if each.letter == "c" and not each.length:
        return 1, 1
    if each.letter == "n":
        return 0, 0
    if each.letter == "s" and not each.length:
        return _bounds_of_string(call, each)
    if each.letter in "diuxX" and each.precision is None and each.precision_argument is None:
        plain = each.letter == "d" and not each.flags and not each.length
        constant = _constant(call, each) if plain else None
        if constant is not None:
            return len(str(constant)), len(str(constant))
        return 1, _DIGITS.get(each.length, 20) + 2  # a sign, or `0x`
    return (0 if each.letter in "diuxXosS" else 1), None


def _constant(call: LibraryCall, each: _Conversion) -> int | None:
    """Return the value of a number that is printed, if it is constant."""
    if each.argument >= len(call.arguments):
        return None
    term = as_sort(call.term(each.argument), INT)
    return int(term.value) if term.kind is Kind.CONST else None


def _bounds_of_string(call: LibraryCall, each: _Conversion) -> tuple[int, int | None]:
    """Return bounds of the length of a string: exact ones for a literal."""
    if each.precision_argument is not None or each.argument >= len(call.arguments):
        return 0, None
    literal = _literal(call, each.argument)
    if literal is None:
        return 0, each.precision
    length = len(literal) if each.precision is None else min(len(literal), each.precision)
    return length, length


def _literal(call: LibraryCall, number: int | None) -> str | None:
    """Return an argument that is a string literal of ASCII characters."""
    operand = None if number is None else call.operand(number)
    if not isinstance(operand, Symbol):
        return None
    variable = call.body.module.globals.get(operand.name)
    text = call.body.module.literal(operand)
    if variable is None or not variable.constant or text is None or not text.isascii():
        return None
    return text.split("\0")[0]

"""Formats of the `printf` and the `scanf` family, and what `%n` writes.

If one conversion of a format is not modelled, as in `%1$d`, it is unknown which conversion uses which
argument. Then the function may do with each argument whatever any conversion does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from certus.frontend.c.ir.instructions import Symbol
from certus.frontend.c.ir.types import PointerType
from certus.frontend.c.model import nondeterminism
from certus.frontend.c.model.checks import check
from certus.frontend.c.model.nondeterminism import LibraryCall, with_options
from certus.frontend.c.model.operands import address_of
from certus.frontend.c.model.terms import NULL, Unmodelled

if TYPE_CHECKING:
    from certus.frontend.c.ir.module import Module

_LENGTH: Final = "(hh|h|ll|l|[jztLq])?"
_PRINTED: Final = re.compile(
    rf"%(?:(%)|([-+ #0'I]*)(\*|\d*)(?:(\.)(\*|\d*))?{_LENGTH}([diouxXbBeEfFgGaAcsCSpnm]))"
)
_COUNT: Final = re.compile(r"%[^a-zA-Z%]*[hljztLqI]*n")
_ADDRESS: Final = re.compile(r"%[^a-zA-Z%]*p")
# If a program mentions one of these, it may read what `%p` prints.
_READING: Final = (
    "sprintf snprintf asprintf vsprintf vsnprintf vasprintf __sprintf_chk __snprintf_chk __vsprintf_chk "
    "__vsnprintf_chk __asprintf_chk __vasprintf_chk fscanf __isoc99_fscanf __isoc23_fscanf read pread fread "
    "getc fgetc fgets getline getdelim mmap"
)
_SIZES: Final = {"hh": 1, "h": 2, "": 4, "ll": 8, "j": 8, "q": 8, "L": 8}  # of integers; others have a word


def literal(call: LibraryCall, number: int | None) -> str | None:
    """Return an argument that is a string literal of ASCII characters, up to its first zero."""
    operand = None if number is None else call.operand(number)
    if not isinstance(operand, Symbol):
        return None
    variable = call.body.module.globals.get(operand.name)
    text = call.body.module.literal(operand)
    if variable is None or not variable.constant or text is None or not text.isascii():
        return None
    return text.split("\0")[0]


def size_of_integer(length: str, word: int) -> int:
    """Return the size in bytes of an integer whose conversion has a length such as `ll`."""
    return _SIZES.get(length, word)


# ---------------------------------------------------------------------------------------- printf


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion of `printf`. `argument` is the number of the argument that it prints; `width_argument` and
    `precision_argument` are those of a width and a precision that are arguments (`*`). `width` and
    `precision` are None unless the format states them as numbers."""

    letter: str
    length: str
    flags: str
    argument: int
    width: int | None
    precision: int | None
    width_argument: int | None
    precision_argument: int | None


def printed(text: str, number: int) -> list[Conversion] | None:
    """Return the conversions of a format of the `printf` family, whose first argument has this number. Return
    None if one of them is not modelled."""
    if "%" in _PRINTED.sub("", text):
        return None
    conversions = []
    for percent, flags, width, dot, precision, length, letter in _PRINTED.findall(text):
        if percent:
            continue
        arguments: list[int | None] = []
        for stated in (width, precision):
            arguments.append(number if stated == "*" else None)
            number += stated == "*"
        wide = int(width) if width.isdigit() else None
        precise = None if not dot or precision == "*" else int(precision or 0)
        conversions.append(Conversion(letter, length, flags, number, wide, precise, *arguments))
        number += letter != "m"
    return conversions


def conversions_of(call: LibraryCall, format: int | None) -> tuple[str | None, list[Conversion] | None]:
    """Return the format that is this argument, and its conversions; None for what is unknown."""
    text = literal(call, format)
    return text, None if text is None or format is None else printed(text, format + 1)


def plain_length(text: str) -> int:
    """Return how many characters a format prints besides its conversions; all of these must be modelled."""
    return len(_PRINTED.sub(lambda match: "%" if match[1] else "", text))


@with_options
def counts(call: LibraryCall, format: int | None) -> None:
    """Write the counts of `%n`, and note the addresses that become text by `%p`. `format` is the number of
    the argument with the format; it is None if the last argument is a `va_list`.

    An unknown format may contain `%n`, which may write through any pointer among the arguments. The pointers
    in a `va_list` are unknown. So the call is refused if its format contains `%n` or, where the format is
    unknown, if any string of the program does; otherwise no format is assumed to contain it."""
    readable = call.body.unit.symbols.mentions(*_READING.split())
    if format is None:
        texts = [literal(call, number) for number in range(len(call.arguments) - 1)]
        text = next((each for each in texts if each is not None), None)
        for conversion in (_COUNT, _ADDRESS) if readable else (_COUNT,):
            if conversion.search(text) if text is not None else _has_text(call.body.module, conversion):
                what = (
                    f"`%{conversion.pattern[-1]}` among the arguments that `{call.name}` gets in a `va_list`"
                )
                raise Unmodelled("unsupported-library-function", what)
        return
    if format >= len(call.arguments):
        return
    text, conversions = conversions_of(call, format)
    if conversions is None:
        for operand in call.arguments[format + 1 :]:
            if isinstance(operand.type, PointerType) and address_of(call.body, operand) is not NULL:
                if text is None or _COUNT.search(text):
                    nondeterminism.write_some(call.body, address_of(call.body, operand), _COUNTED)
                if readable and (text is None or _ADDRESS.search(text)):
                    nondeterminism.make_number(call.body, address_of(call.body, operand))
    for each in conversions or ():
        if each.letter == "p" and readable and each.argument < len(call.arguments):
            nondeterminism.make_number(call.body, call.address(each.argument))
        if each.letter == "n":
            address, size = call.address(each.argument), size_of_integer(each.length, call.body.layout.word)
            check(call.body, address, size, "write")
            nondeterminism.write_any(call.body, address, size, _COUNTED)


_COUNTED: Final = "what `%n` counts"


def _has_text(module: Module, conversion: re.Pattern[str]) -> bool:
    """Return whether a string of the program may be a format with a conversion."""
    texts = (module.literal(Symbol(each.type, each.name)) for each in module.globals.values())
    return any(conversion.search(text.replace("\0", "")) for text in texts if text)


# ---------------------------------------------------------------------------------------- scanf

_SCANNED: Final = re.compile(rf"%(?:%|(\*?)(\d*){_LENGTH}(\[\^?\]?[^\]]*\]|[a-zA-Z]))")
FLOATING: Final = "float"
ADDRESS: Final = "address"
_FLOATS: Final = {"": 4, "l": 8}  # sizes of floating-point numbers


def scanned(text: str | None, number: int, word: int) -> list[tuple[str, int]]:
    """Return what `scanf` writes to each of its `number` targets, as a kind and a number of bytes. `any`:
    every value is possible. `some`: only some values are, because of a width or because the target is a
    character. `float`: a floating-point number. `address`: a pointer. `text`: a string of at most this
    length, or of any length if it is 0. Return an empty list if a conversion is not modelled; refuse a call
    with too few targets."""
    if text is None or "%" in _SCANNED.sub("", text):
        return []
    conversions = [each for each in _SCANNED.findall(text) if each[-1] and not each[0]]
    if len(conversions) > number:
        what = "a call of the `scanf` family without all of its arguments"
        raise Unmodelled("unsupported-library-function", what)
    if len(conversions) < number:
        return []
    targets: list[tuple[str, int]] = []
    for _, width, length, conversion in conversions:
        letter = conversion[0]
        if letter in "s[SC" or (letter == "c" and width):
            narrow = letter in "s[c" and not length
            most = int(width) + (letter != "c") if narrow and width else 0
            targets.append(("text", most))
        elif letter in "cp":
            wide = 4 if length or letter == "C" else 1
            targets.append((ADDRESS, word) if letter == "p" else ("some", wide))
        elif letter in "diouxX":
            targets.append(("some" if width else "any", size_of_integer(length, word)))
        elif letter in "aefgAEFG" and length in _FLOATS:
            targets.append(("some" if width else FLOATING, _FLOATS[length]))
        else:
            return []
    return targets

"""What functions of the C library without a model in C access through their arguments, if accesses are
checked: the strings and objects they read, and the bytes that the `printf` family writes to a buffer.

How long a printed text is depends on the values that are printed. Integers, characters and strings have exact
lengths. For other values the format bounds the length: proofs must allow for every length between the bounds,
and counterexamples rely only on the least one.

Signatures name the arguments that are strings or handles such as streams (at least a byte is read), a table
those that are objects of a known type. A function may read any number of bytes through an argument that
nothing mentions: no proof can bound it, and no counterexample depends on it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.terms import INT, Expr, machine
from certus.frontend.c.ir.types import PointerType
from certus.frontend.c.model import formats, nondeterminism
from certus.frontend.c.model.c_types import HANDLE, STRING, reads_of
from certus.frontend.c.model.checks import check
from certus.frontend.c.model.effects import EXTENTS
from certus.frontend.c.model.formats import Conversion
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.nondeterminism import LibraryCall
from certus.frontend.c.model.operands import address_of
from certus.frontend.c.model.terms import NULL, as_sort

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_LONGEST: Final = build.integer(2**31)  # more characters than any string that is printed has
_BASES: Final = {"d": 10, "i": 10, "u": 10, "x": 16, "X": 16, "o": 8}
_TEXT: Final = "the length of the text that a function of the `printf` family writes"


# ------------------------------------------------------------------------------------- strings read


def check_strings(call: LibraryCall, format: int | None) -> dict[int, Expr]:
    """Check the strings that a call reads; return their lengths by the numbers of the arguments. What a
    `va_list` contains is not known, nor what a computed format does if it uses pointers, or more arguments
    than there are."""
    body, lengths = call.body, dict[int, Expr]()
    _, conversions = formats.conversions_of(call, format)
    if conversions is None and format is None:
        for operand in call.arguments:
            if isinstance(operand.type, PointerType):
                nondeterminism.read_unknown(body, address_of(body, operand), call.read)
    elif conversions is None and format is not None:
        used = run_model(body, "__certus_format", (call.address(format),))
        assert used is not None
        missing = build.lt(build.integer(len(call.arguments) - format - 1), as_sort(used, INT))
        body.when(missing, partial(nondeterminism.read_unknown, body, NULL, call.read))
    for each in conversions or ():
        if each.letter in "sS":
            wide = each.letter == "S" or each.length == "l"
            literal = None if wide else formats.literal(call, each.argument)
            most = _most_read(call, each)
            if literal is not None:
                lengths[each.argument] = _minimum(most, build.integer(len(literal)))
                continue
            model = "wcsnlen" if wide else "strnlen"
            length = run_model(body, model, (call.address(each.argument), most))
            if not wide and length is not None:
                lengths[each.argument] = as_sort(length, INT)
    return lengths


def _most_read(call: LibraryCall, string: Conversion) -> Expr:
    """Return how many characters of a string are read at most; a negative precision is none."""
    if string.precision_argument is not None:
        stated = build.to_int(as_sort(call.term(string.precision_argument), machine(32, signed=True)))
        return build.ite(build.lt(stated, NULL), _LONGEST, stated)
    return _LONGEST if string.precision is None else build.integer(string.precision)


def check_string(body: Body, address: Expr) -> None:
    """Check the string at an address."""
    run_model(body, "strnlen", (address, _LONGEST))


# ----------------------------------------------------------------------------------- bytes written


def write_text(
    call: LibraryCall, format: int | None, buffer: int, limit: int | None, lengths: dict[int, Expr]
) -> None:
    """Write text to a buffer: at most as many bytes as the argument `limit` says. `lengths` are those of the
    strings among the arguments."""
    body, address = call.body, call.address(buffer)
    least, most = _bounds(call, format, lengths)
    room = None if limit is None else call.integer(limit)

    def within(count: Expr) -> Expr:
        return count if room is None else _minimum(room, count)

    check(body, address, within(least), "write")
    if least is most:
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


def _bounds(call: LibraryCall, format: int | None, lengths: dict[int, Expr]) -> tuple[Expr, Expr | None]:
    """Return bounds of the number of bytes that are written, with the zero at the end. They are one term if
    the number is exact."""
    text, conversions = formats.conversions_of(call, format)
    if text is None or conversions is None:
        return build.integer(1), None
    least: Expr = build.integer(formats.plain_length(text) + 1)
    most: Expr | None = least
    for each in conversions:
        low, high = _bounds_of(call, each, lengths)
        width = build.integer(each.width or 0)
        low = _maximum(low, width)
        least = build.add(least, low)
        if most is None or high is None or each.width_argument is not None:
            most = None
        else:
            most = build.add(most, _maximum(high, width))
    return least, most


def _bounds_of(call: LibraryCall, each: Conversion, lengths: dict[int, Expr]) -> tuple[Expr, Expr | None]:
    """Return bounds of the length of a conversion, without its width."""
    one = build.integer(1)
    if each.argument in lengths:
        return lengths[each.argument], lengths[each.argument]
    if each.letter == "c" and not each.length:
        return one, one
    if each.letter == "n":
        return NULL, NULL
    precise = each.precision is not None or each.precision_argument is not None
    if each.letter in _BASES and not precise and each.argument < len(call.arguments):
        digits = _length_of_number(call, each)
        if "#" in each.flags or "'" in each.flags:
            return digits, None
        return digits, digits
    return (NULL if each.letter in "diuxXosS" else one), None


def _length_of_number(call: LibraryCall, each: Conversion) -> Expr:
    """Return how many characters an integer has: its digits, and a sign."""
    signed = each.letter in "di"
    size = formats.size_of_integer(each.length, call.body.layout.word)
    sort = machine(8 * size, signed=signed)
    value = build.to_int(as_sort(call.term(each.argument), sort))
    negative = build.lt(value, NULL)
    amount = build.ite(negative, build.neg(value), value) if signed else value
    length: Expr = build.integer(1)
    power = base = _BASES[each.letter]
    while power <= sort.high + 1:
        length = build.add(length, build.ite(build.le(build.integer(power), amount), build.integer(1), NULL))
        power *= base
    sign = build.ite(negative, build.integer(1), build.integer(int("+" in each.flags or " " in each.flags)))
    return build.add(length, sign) if signed else length


def _minimum(a: Expr, b: Expr) -> Expr:
    return build.ite(build.lt(a, b), a, b)


def _maximum(a: Expr, b: Expr) -> Expr:
    return build.ite(build.lt(a, b), b, a)


# ------------------------------------------------------------------------------------ other functions

# Objects of known types that functions read: the number of the argument, and the type; `?`: it may be null.
OBJECTS: Final[dict[str, tuple[int, str]]] = {
    **dict.fromkeys(("localtime", "gmtime", "ctime", "localtime_r", "gmtime_r", "ctime_r"), (0, "time_t")),
    **dict.fromkeys(("asctime", "asctime_r"), (0, "struct tm")),
    **{"strftime": (3, "struct tm"), "nanosleep": (0, "struct timespec"), "fsetpos": (1, "fpos_t")},
    **{"sigprocmask": (1, "sigset_t?")},
}
# Arguments that point to as many bytes as the product of other arguments says.
_RANGES: Final[dict[str, tuple[tuple[int, tuple[int, ...]], ...]]] = {
    **dict.fromkeys(("fwrite", "fwrite_unlocked"), ((0, (1, 2)),)),
    **dict.fromkeys(("write", "pwrite", "send", "bind", "connect"), ((1, (2,)),)),
    **{"sendto": ((1, (2,)), (4, (5,))), "setsockopt": ((3, (4,)),)},
}
# Formats of functions that print, other than the `printf` family; they may be null.
_FORMATS: Final = {
    **dict.fromkeys(("warn", "warnx"), 0),
    **{"asprintf": 1, "err": 1, "errx": 1, "errc": 2, "error": 2, "error_at_line": 4},
}


def check_reads(call: LibraryCall, signature: str) -> None:
    """Check what a call of a function with this signature reads."""
    objects = (OBJECTS[call.name],) if call.name in OBJECTS else ()
    for number, what in (*reads_of(signature), *objects):
        if number >= len(call.arguments):
            continue
        read = partial(_read, call.body, what.removesuffix("?"))
        if what.endswith("?"):
            call.when_not_null(number, read)
        else:
            read(call.address(number))
    for number, factors in _RANGES.get(call.name, ()):
        size: Expr = build.integer(1)
        for factor in factors:
            size = build.mul(size, call.integer(factor))
        check(call.body, call.address(number), size, "read")
    if call.name in _FORMATS:
        call.when_not_null(_FORMATS[call.name], lambda _: _check_format(call))


def _check_format(call: LibraryCall) -> None:
    check_strings(call, _FORMATS[call.name])


def _read(body: Body, what: str, address: Expr) -> None:
    """Check what is read at an address."""
    if what == STRING:
        check_string(body, address)
    else:
        size = 1 if what == HANDLE else EXTENTS[what][body.layout.word == 8]
        check(body, address, size, "read")


def check_others(call: LibraryCall) -> None:
    """Let a function read any number of bytes through the pointers that nothing has looked at so far, unless
    they are null constants."""
    for number, operand in enumerate(call.arguments):
        if isinstance(operand.type, PointerType) and number not in call.described:
            address = call.address(number)
            if address is not NULL:
                nondeterminism.read_unknown(call.body, address, call.read)

"""Functions that read input, draw random numbers, or print.

What is read comes from outside, so a counterexample may choose it, but not all of it: what the program itself
put there is read back, and a number ends before what is no digit. Such ways are open to proofs alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Store
from certus.core.sorts import BOOL, INT, MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.types import IntegerType, PointerType
from certus.frontend.c.library import meanings
from certus.frontend.c.library.meanings import Meaning
from certus.frontend.c.library.table import WRITTEN_BACK
from certus.frontend.c.model.effects import give_result, write_extent, write_some, write_up_to
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.operands import address_of, term_of
from certus.frontend.c.model.terms import NULL, U8, as_sort, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_ONE: Final = build.constant(1, U8)
_ZERO: Final = build.constant(0, U8)
_SCANNERS: Final = (
    "scanf",
    "fscanf",
    "__isoc99_scanf",
    "__isoc99_fscanf",
    "__isoc23_scanf",
    "__isoc23_fscanf",
)
_SEEDERS: Final = ("srand", "srandom", "srand48")


def nondet(body: Body, instruction: ir.Call, name: str) -> None:
    """`__VERIFIER_nondet_int()` and its relatives: any value of the type."""
    type_ = instruction.result
    writes = any(isinstance(argument.operand.type, PointerType) for argument in instruction.arguments)
    if isinstance(type_, IntegerType | PointerType) and not writes:
        if isinstance(type_, PointerType):
            body.unit.note_foreign(body.module, body.unit.result_type(body.module, name))
        if isinstance(type_, IntegerType) and type_.bits == 1:
            made = body.havoc(machine(1, signed=False), name)
            body.define(instruction, as_sort(made, BOOL))
        else:
            signed = body.unit.returns_signed(body.module, name)
            body.define(instruction, body.havoc(sort_of(type_, signed=signed), name))
    else:
        from certus.frontend.c.model.unknown import call

        call(body, instruction, name)


def _what(name: str) -> str:
    return f"what `{name}` reads"


def _begin(body: Body, name: str) -> None:
    if body.unit.mentions(*WRITTEN_BACK):
        body.doubtful(_what(name))


def natural(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """`rand`: after a seed has been given anew the numbers may be those that were drawn before."""
    unit = body.unit
    if unit.mentions(*_SEEDERS):
        again = build.eq(unit.library_variable("rand$again", U8), _ONE)
        body.when(again, lambda: body.doubtful(f"the result of `{name}` after a new seed"))
        body.assign(unit.library_variable("rand$drawn", U8), _ONE)
    sort = sort_of(instruction.result, signed=True)
    result = body.havoc(sort, name)
    if isinstance(sort, MachineSort):
        low, high = build.constant(0, sort), build.constant(min(2**31 - 1, sort.high), sort)
        body.assume(build.and_(build.le(low, result), build.le(result, high)))
    body.define(instruction, result)


def seed(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    drawn = body.unit.library_variable("rand$drawn", U8)
    body.assign(body.unit.library_variable("rand$again", U8), drawn)


def character(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """A character, or -1 at the end of the input."""
    _begin(body, name)
    sort = sort_of(instruction.result, signed=True)
    assert isinstance(sort, MachineSort)
    if body.unit.mentions(*_SCANNERS):  # it may follow a number
        ended = build.eq(body.havoc(U8), _ZERO)
        value = build.wrap(body.havoc(U8, name, _what(name)), sort)
        body.define(instruction, build.ite(ended, build.constant(-1, sort), value))
        return
    result = body.havoc(sort, name)
    low, high = build.constant(-1, sort), build.constant(255, sort)
    body.assume(build.and_(build.le(low, result), build.le(result, high)))
    body.define(instruction, result)


def time(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """`time(&t)`: the result is also stored."""
    pointer = address_of(body, instruction.arguments[0].operand) if instruction.arguments else NULL
    result = body.havoc(sort_of(instruction.result, signed=True), name)
    if pointer is not NULL:
        body.when(build.ne(pointer, NULL), lambda: _store(body, pointer, result))
    body.define(instruction, result)


def _store(body: Body, pointer: Expr, value: Expr) -> None:
    body.emit(Store(pointer, value))


def memory(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """`__VERIFIER_nondet_memory(to, count)`."""
    to = address_of(body, instruction.arguments[0].operand)
    count = as_sort(term_of(body, instruction.arguments[1].operand), INT)
    run_model(body, "__certus_input1", (to, count))


def block(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """A number of bytes is read into memory: as many as the result says."""
    assert isinstance(meaning, meanings.Block)
    _begin(body, name)
    if body.unit.mentions(*_SCANNERS):
        body.doubtful(_what(name))
    terms = [as_sort(term_of(body, a.operand), INT) for a in instruction.arguments]
    to, count = terms[meaning.to], terms[meaning.count]
    size = build.integer(1) if meaning.size is None else terms[meaning.size]
    sort = sort_of(instruction.result, signed=meaning.size is None)
    result = body.havoc(sort, name)
    number = build.to_int(result)
    least, most = NULL, build.ite(build.eq(size, NULL), NULL, count)
    if meaning.size is None:
        file = term_of(body, instruction.arguments[0].operand)
        assert isinstance(file.sort, MachineSort)
        closed = build.lt(
            build.wrap(file, machine(file.sort.width, signed=True)),
            build.constant(0, machine(file.sort.width, signed=True)),
        )
        least, most = build.integer(-1), build.ite(closed, build.integer(-1), count)
    body.assume(build.and_(build.le(least, number), build.le(number, most)))
    read = build.ite(build.lt(number, NULL), NULL, build.mul(number, size))
    run_model(body, "__certus_input1", (to, read))
    if meaning.size is not None:  # what is left of an element that ends early has no known value
        rest = build.ite(build.lt(number, count), size, NULL)
        end = build.add(to, build.mul(number, size))
        run_model(body, "__certus_unknown1", (end, rest))
    body.define(instruction, result)


def line(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """`fgets`: a line, or null at the end of the input, when the contents are anything."""
    _begin(body, name)
    if body.unit.mentions(*_SCANNERS):
        body.doubtful(_what(name))
    to = address_of(body, instruction.arguments[0].operand)
    size = term_of(body, instruction.arguments[1].operand)
    room = size.kind is Kind.CONST and int(size.value) > 1
    unknown = "" if room else "the result of `fgets` where there is no room"
    failed = build.eq(body.havoc(U8, approximates=unknown), _ZERO)

    def fail() -> Expr:
        what = "what `fgets` leaves when it fails"
        write_up_to(body, instruction.arguments[0].operand, to, as_sort(size, INT), what)
        return NULL

    def succeed() -> Expr:
        run_model(body, "__certus_line", (to, size))
        return to

    body.define(instruction, body.choose(failed, fail, succeed))


# ------------------------------------------------------------------------------------- scanf, printf

_CONVERSION: Final = re.compile(r"%(\*?)(\d*)(hh?|ll?|[jztLqm])?([a-zA-Z\[])")
_SIZES: Final = {"hh": 1, "h": 2, "": 4, "ll": 8, "j": 8, "q": 8}


def _conversions(text: str | None, number: int, word: int) -> list[tuple[str, int]]:
    """What each of a number of targets gets by a format: `any` value of so many bytes, `some`, if a width
    limits it or it is a character, or `text`. Nothing if the format is not known."""
    found = [m for m in _CONVERSION.findall(text or "") if not m[0]]
    if len(found) != number or any(letter == "n" for *_, letter in found):
        return []
    made: list[tuple[str, int]] = []
    for _, width, length, letter in found:
        if letter in "s[SC" or (letter == "c" and width):
            made.append(("text", 0))
        elif letter == "c":
            made.append(("some", 1))
        elif letter == "p":
            made.append(("some", word))
        elif letter in "diouxX":
            made.append(("some" if width else "any", _SIZES.get(length, word)))
        else:
            return []
    return made


def scan(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """The result is the number of conversions that succeed, or -1; for each that does, what its pointer
    points to gets any value. That comes from outside, unless a string is read, or the format is not
    understood: then nothing is known of it. Where no conversion succeeded, none will if it is tried again."""
    assert isinstance(meaning, meanings.Scan)
    arguments = [argument.operand for argument in instruction.arguments]
    targets = arguments[meaning.format + 1 :]
    text = body.unit.literal(body.module, arguments[meaning.format])
    kinds = _conversions(text, len(targets), body.layout.word)
    outside = meaning.outside and bool(kinds)
    what = "" if outside else _what(name)
    sort = sort_of(instruction.result, signed=True)
    if outside:
        _begin(body, name)
    result = body.havoc(sort, name, what)
    least, most = build.constant(-1, sort), build.constant(len(targets), sort)
    body.assume(build.and_(build.le(least, result), build.le(result, most)))
    if outside:
        _tried_again(body, name, result)
    for number, target in enumerate(targets):
        kind, size = kinds[number] if kinds else ("text", 0)
        if kinds:
            success = build.lt(build.constant(number, sort), result)
        else:
            success = build.eq(body.havoc(U8, approximates=what), _ZERO)
        reads = what or ("" if kind == "any" else "the text that a function of the `scanf` family reads")

        def write(target=target, size=size, reads=reads) -> None:  # type: ignore[no-untyped-def]
            address = address_of(body, target)
            if size:
                body.emit(Store(address, body.havoc(machine(8 * size, signed=False), approximates=reads)))
            else:
                write_extent(body, target, address, reads)

        body.when(success, write)
    body.define(instruction, result)


def _tried_again(body: Body, name: str, result: Expr) -> None:
    failed = body.unit.library_variable("scanf$failed", U8)
    zero = build.constant(0, result.sort)
    other = build.and_(build.eq(failed, _ONE), build.lt(zero, result))
    body.when(other, lambda: body.doubtful(f"the result of `{name}` after it failed"))
    body.assign(failed, build.ite(build.eq(result, zero), _ONE, _ZERO))


_COUNT: Final = re.compile(r"%[-+ #0-9.*]*(?:hh?|ll?|[jztLq])?n")
_PRINTED: Final = "the text that a function of the `printf` family writes"


def print_(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """Printing has no effect on the program's memory, but that of `%n`, and of what goes to a buffer."""
    assert isinstance(meaning, meanings.Print)
    arguments = [argument.operand for argument in instruction.arguments]
    if meaning.buffer is not None:
        buffer = arguments[meaning.buffer]
        address = address_of(body, buffer)
        if meaning.limit is not None:
            limit = as_sort(term_of(body, arguments[meaning.limit]), INT)
            write_up_to(body, buffer, address, limit, _PRINTED)
        else:
            write_extent(body, buffer, address, _PRINTED)
    if meaning.format is not None and meaning.format < len(arguments):
        text = body.unit.literal(body.module, arguments[meaning.format])
        if text is None or _COUNT.search(text.replace("\0", "")):
            for operand in arguments[meaning.format + 1 :]:
                if isinstance(operand.type, PointerType) and address_of(body, operand) is not NULL:
                    _count(body, address_of(body, operand), text)
    give_result(body, instruction, name)


def _count(body: Body, address: Expr, text: str | None) -> None:
    """What `%n` may count is written where a pointer argument leads."""
    what = "what `%n` counts"
    if text is None or address.kind is Kind.CONST:
        write_some(body, address, what)
        return
    body.emit(Store(address, body.havoc(machine(32, signed=False), approximates=what)))

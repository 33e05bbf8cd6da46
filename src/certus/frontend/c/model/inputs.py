"""Library functions that read input, draw random numbers, or print.

Input comes from outside, so a counterexample may choose it, but not all of it: what the program itself wrote
is read back, and a number ends before the first character that is not a digit. Only proofs consider such
executions.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.floats import F32, F64
from certus.core.program import Store
from certus.core.terms import INT, Expr, Kind, MachineSort, machine
from certus.core.vocabulary import SCAN, SCANNED
from certus.frontend.c.ir.instructions import Operand
from certus.frontend.c.ir.types import holds_pointers
from certus.frontend.c.model import floats, formats, nondeterminism
from certus.frontend.c.model.checks import check, is_checked
from certus.frontend.c.model.memory import run_model
from certus.frontend.c.model.nondeterminism import LibraryCall, any_count, maybe, with_options
from certus.frontend.c.model.operands import address_of
from certus.frontend.c.model.terms import NULL, U8, Unmodelled, as_sort, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_ONE: Final = build.constant(1, U8)
_ZERO: Final = build.constant(0, U8)
# If a program mentions one of these, what it reads may depend on what it wrote.
_WRITTEN_BACK: Final = ("ungetc", "tmpfile", "tmpfile64", "fmemopen", "pipe", "pipe2", "socketpair")
_WRITING: Final = ("write", "pwrite", "send", "sendto", "fwrite", "fwrite_unlocked")
_PREFIXES: Final = ("", "__isoc99_", "__isoc23_")
_SCANNERS: Final = tuple(f"{prefix}{name}" for prefix in _PREFIXES for name in ("scanf", "fscanf"))


def _begin(call: LibraryCall, *, scanned: bool = False) -> None:
    """Bar counterexamples where the program may have written what it reads or, if `scanned`, where a number
    that was read before decides what comes next."""
    if call.body.unit.symbols.mentions(*_WRITTEN_BACK, *(_SCANNERS if scanned else ())):
        call.body.bar_counterexamples(call.read)


def _between(call: LibraryCall, low: int, high: int, approximates: str = "", prefix: str = "") -> Expr:
    """Return an input of the result type between two numbers."""
    sort = sort_of(call.instruction.result, signed=True)
    result = call.body.havoc(sort, f"{prefix}{call.name}", approximates)
    if isinstance(sort, MachineSort):
        least, most = build.constant(low, sort), build.constant(min(high, sort.high), sort)
        call.body.assume(build.and_(build.le(least, result), build.le(result, most)))
    return result


def natural(call: LibraryCall) -> None:
    """`rand`: a number between 0 and 2^31 - 1. After a new seed the numbers may repeat those drawn before."""
    body, unit = call.body, call.body.unit
    if unit.symbols.mentions("srand", "srandom", "srand48"):
        again = build.eq(unit.library.variable("rand$again", U8), _ONE)
        body.when(again, lambda: body.bar_counterexamples(f"the result of `{call.name}` after a new seed"))
        body.registers.assign(unit.library.variable("rand$drawn", U8), _ONE)
    call.define(_between(call, 0, 2**31 - 1))


def seed(call: LibraryCall) -> None:
    """`srand`: numbers that were drawn before may come again."""
    drawn = call.body.unit.library.variable("rand$drawn", U8)
    call.body.registers.assign(call.body.unit.library.variable("rand$again", U8), drawn)


def character(call: LibraryCall) -> None:
    """Read a character between 0 and 255, or -1 at the end of the input."""
    _begin(call)
    if not call.body.unit.symbols.mentions(*_SCANNERS):
        call.define(_between(call, -1, 255))
        return
    sort = sort_of(call.instruction.result, signed=True)  # it may follow a number
    assert isinstance(sort, MachineSort)
    ended = maybe(call.body)
    value = build.wrap(call.body.havoc(U8, call.name, call.read), sort)
    call.define(build.ite(ended, build.constant(-1, sort), value))


def time(call: LibraryCall) -> None:
    """`time(&t)`: an input, which is also stored unless the pointer is null."""
    result = call.body.havoc(sort_of(call.instruction.result, signed=True), call.name)

    def store(pointer: Expr) -> None:
        check(call.body, pointer, call.body.layout.store_size(call.instruction.result), "write")
        call.body.emit(Store(pointer, result))

    call.when_not_null(0, store)
    call.define(result)


def input_memory(call: LibraryCall) -> None:
    """`__VERIFIER_nondet_memory(to, count)`: bytes of input."""
    to, count = call.address(0), call.integer(1)
    check(call.body, to, count, "write")
    run_model(call.body, "__certus_input1", (to, count))


@with_options
def block(call: LibraryCall, to: int, count: int, size: int | None = None, flags: int | None = None) -> None:
    """Read an input, the number of elements read, and as many bytes of input to where the argument `to`
    points. `size` is the argument with the size of an element; without it, an element is a byte, and the
    result may be -1, always if argument 0, the file, is negative. The rest of an incomplete element is
    unknown. `flags` is the argument with options of `recv`: the same bytes may be read again, and the result
    may be the length of a message that is longer than what is read."""
    _begin(call, scanned=True)
    body, start, most = call.body, call.integer(to), call.integer(count)
    root = body.roots.of(call.operand(to))
    if root is not None and holds_pointers(root.type) and body.unit.symbols.mentions(*_WRITING):
        raise Unmodelled(
            "unsupported-library-function", f"`{call.name}` of pointers, which the program may have written,"
        )
    width = build.integer(1) if size is None else call.integer(size)
    result = body.havoc(sort_of(call.instruction.result, signed=size is None), call.name)
    number, least, limit = build.to_int(result), NULL, build.ite(build.eq(width, NULL), NULL, most)
    if size is None:
        file = build.wrap(call.term(0), machine(32, signed=True))
        closed = build.lt(file, build.constant(0, machine(32, signed=True)))
        least, limit = build.integer(-1), build.ite(closed, build.integer(-1), most)
    if flags is not None and as_sort(call.term(flags), INT) is not NULL:
        body.bar_counterexamples(call.read)
        body.assume(build.le(least, number))
        number = build.ite(build.lt(most, number), most, number)
    else:
        body.assume(build.and_(build.le(least, number), build.le(number, limit)))
    read = build.ite(build.lt(number, NULL), NULL, build.mul(number, width))
    check(body, start, read, "write")
    run_model(body, "__certus_input1", (start, read))
    if size is not None:
        rest = build.ite(build.lt(number, most), width, NULL)
        if is_checked(body, "write"):  # how much of it is written is not known
            rest = build.ite(build.lt(number, most), any_count(body, call.written), NULL)
            body.assume(build.le(rest, width))
            check(body, build.add(start, build.mul(number, width)), rest, "write")
        run_model(body, "__certus_unknown1", (build.add(start, build.mul(number, width)), rest))
    call.define(result)


def line(call: LibraryCall) -> None:
    """`fgets(to, size, file)`: a line, or null at the end of the input; then the contents are arbitrary."""
    _begin(call, scanned=True)
    to, size = call.address(0), call.term(1)
    room = size.kind is Kind.CONST and int(size.value) > 1
    failed = maybe(call.body, "" if room else "the result of `fgets` where there is no room")

    def fail() -> Expr:
        what = "what `fgets` leaves when it fails"
        nondeterminism.write_part(call.body, call.arguments[0], to, what, as_sort(size, INT))
        return NULL

    def succeed() -> Expr:
        run_model(call.body, "__certus_line", (to, size))
        return to

    call.define(call.body.choose(failed, fail, succeed))


# ------------------------------------------------------------------------------------- scanf, printf

_SIGNALLING: Final = 1  # the class of these NaNs
_SCANNED_TEXT: Final = "the text that a function of the `scanf` family reads"


@with_options
def scan(call: LibraryCall, format: int, *, outside: bool) -> None:
    """Model a function of the `scanf` family; `outside`: it reads input, not a string of the program.

    The result is the number of successful conversions, or -1; each of these gives any value to the target of
    its pointer. The value comes from outside, unless a string is read or the format is not understood: then
    nothing is known about it. Where no conversion succeeded, none will succeed if it is tried again.
    """
    body, targets, text = call.body, call.arguments[format + 1 :], formats.literal(call, format)
    conversions = formats.scanned(text, len(targets), body.layout.word)
    if text is None and is_checked(body, "read"):
        from certus.frontend.c.model import reads

        reads.check_string(body, call.address(format))
        if not targets:
            nondeterminism.read_unknown(body, NULL, call.read)
    outside = outside and bool(conversions)
    what = "" if outside else call.read
    if outside:
        _begin(call)
    supplied = outside and all(kind in ("any", formats.FLOATING) for kind, _ in conversions)
    result = _between(call, -1, len(targets), what, SCAN if supplied else "")
    if outside:
        _try_again(call, result)
    for number, target in enumerate(targets):
        kind, size = conversions[number] if conversions else ("text", 0)
        unknown = what or ("" if kind in ("any", formats.FLOATING) else _SCANNED_TEXT)
        below = build.lt(build.constant(number, result.sort), result)
        success = below if conversions else maybe(body, what)
        source = SCANNED if supplied else None
        body.when(success, partial(_scanned, body, target, kind, size, unknown, source))
    call.define(result)


def _scanned(body: Body, target: Operand, kind: str, size: int, what: str, source: str | None) -> None:
    """Write the value of a conversion: a number of `size` bytes, or text; `source` says where it comes from.
    No text denotes a signalling NaN."""
    address = address_of(body, target)
    if kind == "text" and size and is_checked(body, "write"):
        nondeterminism.write_checked(body, address, build.integer(size), what)
    elif kind != "text":
        value = body.havoc(machine(8 * size, signed=False), source, what)
        check(body, address, size, "write")
        if kind == formats.FLOATING:
            format = F32 if size == 4 else F64
            body.assume(build.not_(floats.is_class(format, value, _SIGNALLING)))
        elif kind == formats.ADDRESS:
            value = build.bit_not(value)  # a number, which may be an address that `%p` printed
        body.emit(Store(address, value))
    elif (root := body.roots.of(target)) is not None and holds_pointers(root.type):
        raise Unmodelled("unsupported-library-function", "a pointer read by a function of the `scanf` family")
    else:
        nondeterminism.write_part(body, target, address, what)


def _try_again(call: LibraryCall, result: Expr) -> None:
    """Bar counterexamples with a success after a failure, and record whether this call failed."""
    body, failed = call.body, call.body.unit.library.variable("scanf$failed", U8)
    zero = build.constant(0, result.sort)
    other = build.and_(build.eq(failed, _ONE), build.lt(zero, result))
    body.when(other, lambda: body.bar_counterexamples(f"the result of `{call.name}` after it failed"))
    body.registers.assign(failed, build.ite(build.eq(result, zero), _ONE, _ZERO))


_PRINTED: Final = "the text that a function of the `printf` family writes"


@with_options
def print_(
    call: LibraryCall, format: int | None, buffer: int | None = None, limit: int | None = None
) -> None:
    """Model a function of the `printf` family: only `%n` writes, and `buffer` receives at most as many bytes
    as the argument `limit` says. `format` is None if the arguments come in a `va_list`."""
    body = call.body
    if is_checked(body, "read"):
        from certus.frontend.c.model import reads

        lengths = reads.check_strings(call, format)
        if buffer is not None:
            reads.write_text(call, format, buffer, limit, lengths)
    elif buffer is not None:
        most = None if limit is None else call.integer(limit)
        nondeterminism.write_part(body, call.operand(buffer), call.address(buffer), _PRINTED, most)
    formats.counts(format)(call)
    call.define_anything()

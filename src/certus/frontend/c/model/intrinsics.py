"""Functions that Clang itself calls: `llvm.*`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import UNSPECIFIED, Store
from certus.core.sorts import machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.model import memory, vectors
from certus.frontend.c.model.initialisers import copy_constant
from certus.frontend.c.model.operands import address_of, term_of, value_of
from certus.frontend.c.model.terms import (
    MODULAR,
    NULL,
    U32,
    Lanes,
    Piece,
    Pieces,
    Unmodelled,
    as_sort,
    machine_sort,
    signed,
    sort_of,
    unsigned,
)

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_IGNORED: Final = (
    "llvm.dbg.",
    "llvm.lifetime.",
    "llvm.va_end",
    "llvm.stackrestore",
    "llvm.prefetch",
    "llvm.donothing",
    "llvm.experimental.noalias.scope.decl",
    "llvm.assume",
    "llvm.var.annotation",
    "llvm.pseudoprobe",
)
_SAME: Final = (
    "llvm.expect",
    "llvm.ptr.annotation",
    "llvm.annotation",
    "llvm.launder.invariant.group",
    "llvm.strip.invariant.group",
    "llvm.ssa.copy",
    "llvm.threadlocal.address",
    "llvm.preserve.",
)
_OVERFLOW: Final = re.compile(r"llvm\.([su])(add|sub|mul)\.with\.overflow\.")
_SATURATING: Final = re.compile(r"llvm\.([su])(add|sub|shl)\.sat\.")
_CHOICE: Final = re.compile(r"llvm\.([su](?:min|max))\.")
_BITS: Final = re.compile(r"llvm\.(ctpop|ctlz|cttz|bswap|bitreverse|fshl|fshr)\.")


def lower(body: Body, instruction: ir.Call, name: str) -> None:
    """Lower a call of an intrinsic."""
    if name.startswith(_IGNORED):
        return
    arguments = [argument.operand for argument in instruction.arguments]
    if name.startswith(_SAME):
        body.define(instruction, value_of(body, arguments[0]))
    elif name.startswith(("llvm.memcpy.", "llvm.memmove.")):
        to, source, count = arguments[:3]
        if copy_constant(body, to, source, count):
            return
        memory.copy(
            body,
            to,
            source,
            term_of(body, count),
            overlapping=name.startswith("llvm.memmove."),
            members=instruction.attached.get("tbaa.struct"),
        )
    elif name.startswith("llvm.memset."):
        to, byte, count = arguments[:3]
        memory.fill(body, to, term_of(body, byte), term_of(body, count))
    elif name.startswith("llvm.va_start"):
        _va_start(body, address_of(body, arguments[0]))
    elif name.startswith("llvm.va_copy"):
        size = 24 if body.layout.word == 8 else 4
        cells = [(0, 4), (4, 4), (8, 8), (16, 8)] if body.layout.word == 8 else [(0, 4)]
        target, origin = (address_of(body, argument) for argument in arguments[:2])
        memory.copy_cells(body, target, origin, cells, size)
    elif name.startswith("llvm.stacksave"):
        body.define(instruction, NULL)
    elif name.startswith(("llvm.trap", "llvm.debugtrap", "llvm.ubsantrap")):
        body.stop()
    elif name.startswith("llvm.is.constant"):
        known = body.havoc(machine(1, signed=False), UNSPECIFIED)
        body.define(instruction, as_sort(known, sort_of(instruction.result)))
    elif name.startswith("llvm.objectsize"):
        what = "the result of `__builtin_object_size`, which depends on the compiler"
        body.define(instruction, body.havoc(sort_of(instruction.result), approximates=what))
    elif name.startswith("llvm.vector.reduce."):
        value = value_of(body, arguments[0])
        body.define(instruction, vectors.reduced(body, value, name.split(".")[3]))
    else:
        _arithmetic(body, instruction, name)


def _va_start(body: Body, address: Expr) -> None:
    """All registers count as used, so that all arguments are in the object that the caller packed."""
    if body.more is None:
        raise Unmodelled("unsupported-varargs", "`va_start` in a function that is not variadic")
    pointer = machine(body.layout.pointer_bits, signed=False)
    if body.layout.word == 4:
        body.emit(Store(address, build.wrap(body.more, pointer)))
        return
    for offset, term in (
        (0, build.constant(48, U32)),
        (4, build.constant(304, U32)),
        (8, build.wrap(body.more, pointer)),
        (16, build.constant(0, pointer)),
    ):
        body.emit(Store(build.add(address, build.integer(offset)), term))


def _arithmetic(body: Body, instruction: ir.Call, name: str) -> None:
    arguments = [value_of(body, argument.operand) for argument in instruction.arguments]
    if any(isinstance(value, Lanes) for value in arguments):
        lanes = [value.parts if isinstance(value, Lanes) else () for value in arguments]
        count = max(map(len, lanes))
        made = []
        for index in range(count):
            terms = [
                value.parts[index] if isinstance(value, Lanes) else body.scalar(value) for value in arguments
            ]
            made.append(_computed(body, instruction, name, terms))
        body.define(instruction, Lanes(tuple(made)))
        return
    terms = [body.scalar(value) for value in arguments]
    overflow = _OVERFLOW.match(name)
    if overflow is not None:
        type_ = instruction.arguments[0].operand.type
        size, offset = body.layout.store_size(type_), body.layout.size(type_)
        result, exceeds = checked(name, terms[0], terms[1])
        body.define(instruction, Pieces(offset + 1, (Piece(0, size, result), Piece(offset, 1, exceeds))))
        return
    body.define(instruction, _computed(body, instruction, name, terms))


def is_checked(name: str) -> bool:
    """Whether an intrinsic is an operation that tells whether it overflows."""
    return _OVERFLOW.match(name) is not None


def checked(name: str, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return the result of such an operation, and whether it overflows."""
    found = _OVERFLOW.match(name)
    assert found is not None
    return _checked(found[2], a, b, is_signed=found[1] == "s")


def _checked(operation: str, a: Expr, b: Expr, *, is_signed: bool) -> tuple[Expr, Expr]:
    """The result of an operation, and whether the exact one is another."""
    width = machine_sort(a).width
    sort = machine(width, signed=is_signed)
    wide = machine(2 * width + 2 if operation == "mul" else width + 2, signed=True)
    a, b = build.wrap(a, sort), build.wrap(b, sort)
    exact = MODULAR[operation](build.wrap(a, wide), build.wrap(b, wide))
    low, high = build.constant(sort.low, wide), build.constant(sort.high, wide)
    fits = build.and_(build.le(low, exact), build.le(exact, high))
    return MODULAR[operation](a, b), build.not_(fits)


def chosen(operation: str, a: Expr, b: Expr) -> Expr:
    """Return the smaller or the larger of two numbers: `smin`, `umax` and so on."""
    convert = signed if operation[0] == "s" else unsigned
    x, y = convert(a), convert(b)
    less = build.lt(x, y)
    return build.ite(less, x, y) if operation.endswith("min") else build.ite(less, y, x)


def _computed(body: Body, instruction: ir.Call, name: str, terms: list[Expr]) -> Expr:
    if name.startswith("llvm.abs."):
        a = signed(terms[0])
        return build.ite(build.lt(a, build.constant(0, a.sort)), build.neg(a), a)
    choice = _CHOICE.match(name)
    if choice is not None:
        return chosen(choice[1], terms[0], terms[1])
    saturating = _SATURATING.match(name)
    if saturating is not None and saturating[2] != "shl":
        return _saturated(saturating[2], terms[0], terms[1], is_signed=saturating[1] == "s")
    bits = _BITS.match(name)
    if bits is not None:
        return body.held(_bits(body, bits[1], terms))
    if name.startswith("llvm.ptrmask."):
        return _masked(body, terms[0], terms[1])
    if name.startswith(("llvm.readcyclecounter", "llvm.readsteadycounter")):
        return body.havoc(sort_of(instruction.result))
    code = "unsupported-float" if re.search(r"\.f\d+|\.p?f80", name) else "unsupported-builtin"
    raise Unmodelled(code, f"the builtin `{name}`")


def _masked(body: Body, pointer: Expr, mask: Expr) -> Expr:
    """A pointer rounded down to a multiple of a power of two."""
    if mask.kind is not Kind.CONST:
        raise Unmodelled("unsupported-builtin", "an address that is masked")
    step = -int(machine(machine_sort(mask).width, signed=True).wrap(int(mask.value)))
    if step <= 0 or step & (step - 1):
        raise Unmodelled("unsupported-builtin", "an address that is masked")
    return build.sub(pointer, build.mod(pointer, build.integer(step)))


def _saturated(operation: str, a: Expr, b: Expr, *, is_signed: bool) -> Expr:
    result, exceeds = _checked(operation, a, b, is_signed=is_signed)
    sort = machine_sort(result)
    down = build.boolean(operation == "sub")
    if is_signed:
        negative = build.lt(build.wrap(b, sort), build.constant(0, sort))
        down = negative if operation == "add" else build.not_(negative)
    limit = build.ite(down, build.constant(sort.low, sort), build.constant(sort.high, sort))
    return build.ite(exceeds, limit, result)


def _bits(body: Body, operation: str, terms: list[Expr]) -> Expr:
    a = unsigned(terms[0])
    sort = machine_sort(a)
    width = sort.width

    def constant(number: int) -> Expr:
        return build.constant(sort.wrap(number), sort)

    def bit(number: int) -> Expr:
        return build.bit_and(build.shr(a, constant(number)), constant(1))

    if operation == "ctpop":
        total = constant(0)
        for number in range(width):
            total = build.add(total, bit(number))
        return total
    if operation in ("ctlz", "cttz"):
        found = constant(width)
        if terms[1] is build.TRUE:  # undefined for 0
            what = "the number of zeros in 0, which is undefined"
            zero = build.eq(a, constant(0))
            if zero is not build.FALSE:
                found = body.havoc(sort, approximates=what)
        numbers = range(width) if operation == "ctlz" else reversed(range(width))
        for number in numbers:
            count = width - 1 - number if operation == "ctlz" else number
            found = build.ite(build.ne(bit(number), constant(0)), constant(count), found)
        return found
    if operation in ("bswap", "bitreverse"):
        step = 8 if operation == "bswap" else 1
        total = constant(0)
        for number in range(0, width, step):
            part = build.bit_and(build.shr(a, constant(number)), constant((1 << step) - 1))
            total = build.bit_or(total, build.shl(part, constant(width - step - number)))
        return total
    return _funnel(operation, terms)


def _funnel(operation: str, terms: list[Expr]) -> Expr:
    """Two numbers behind one another, shifted by some bits; what stays of the first, or the second."""
    width = machine_sort(terms[0]).width
    wide, sort = machine(2 * width, signed=False), machine(width, signed=False)
    high, low, amount = (build.wrap(unsigned(term), wide) for term in terms)
    both = build.bit_or(build.shl(high, build.constant(width, wide)), low)
    amount = build.rem(amount, build.constant(width, wide))
    if operation == "fshl":
        return build.wrap(build.shr(build.shl(both, amount), build.constant(width, wide)), sort)
    return build.wrap(build.shr(both, amount), sort)

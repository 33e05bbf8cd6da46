"""The functions of <ctype.h> in the C locale, and counting bits, as terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from certus.core import build
from certus.core.sorts import MachineSort, machine
from certus.core.terms import Expr
from certus.frontend.c.lower.values import from_bool

_CLASSES: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    "isalnum": ((48, 57), (65, 90), (97, 122)),
    "isalpha": ((65, 90), (97, 122)),
    "isblank": ((9, 9), (32, 32)),
    "iscntrl": ((0, 31), (127, 127)),
    "isdigit": ((48, 57),),
    "isgraph": ((33, 126),),
    "islower": ((97, 122),),
    "isprint": ((32, 126),),
    "ispunct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "isspace": ((9, 13), (32, 32)),
    "isupper": ((65, 90),),
    "isxdigit": ((48, 57), (65, 70), (97, 102)),
}


def classify(name: str, c: Expr) -> Expr:
    """What the function `name` says of a character."""
    sort = c.sort
    assert isinstance(sort, MachineSort)
    if name == "toascii":
        return build.bit_and(c, build.constant(127, sort))
    if name == "toupper":
        return build.ite(_within(c, _CLASSES["islower"]), build.sub(c, build.constant(32, sort)), c)
    if name == "tolower":
        return build.ite(_within(c, _CLASSES["isupper"]), build.add(c, build.constant(32, sort)), c)
    return from_bool(_within(c, _CLASSES[name]), sort)


def _within(c: Expr, ranges: tuple[tuple[int, int], ...]) -> Expr:
    return build.disjunction(
        build.and_(build.le(build.constant(low, c.sort), c), build.le(c, build.constant(high, c.sort)))
        for low, high in ranges
    )


_FLAGS: Final = (  # of glibc's tables, from the lowest bit on; a few bits are not used
    *("isblank", "iscntrl", "ispunct", "isalnum"),
    *(None, None, None, None),
    *("isupper", "islower", "isalpha", "isdigit", "isxdigit", "isspace", "isprint", "isgraph"),
)
TABLE: Final = range(-128, 256)  # the characters in them


def table(name: str) -> tuple[bytes, int]:
    """What the pointer from a function of glibc's <ctype.h> points into, and the width of its entries."""
    if name == "__ctype_b_loc":
        return b"".join(_flags(c).to_bytes(2, "little") for c in TABLE), 16
    low, high, step = (65, 90, 32) if "tolower" in name else (97, 122, -32)
    mapped = (c + step if low <= c <= high else c for c in TABLE)
    return b"".join(c.to_bytes(4, "little", signed=True) for c in mapped), 32


def _flags(c: int) -> int:
    return sum(
        1 << bit
        for bit, name in enumerate(_FLAGS)
        if name is not None and any(low <= c <= high for low, high in _CLASSES[name])
    )


def rotated(value: Expr, amount: Expr, *, left: bool) -> Expr:
    """The bits of an unsigned integer, rotated by any amount."""
    sort = value.sort
    assert isinstance(sort, MachineSort)
    mask, width = build.constant(sort.width - 1, sort), build.constant(sort.width, sort)
    one = build.bit_and(build.wrap(amount, sort), mask)
    other = build.bit_and(build.sub(width, one), mask)
    if not left:
        one, other = other, one
    return build.bit_or(build.shl(value, one), build.shr(value, other))


def count_bits(name: str, value: Expr, result: MachineSort) -> Expr:
    """`clz`, `ctz`, `clrsb`, `popcount`, `parity`, `ffs`, `bswapN` and `bitreverseN`; clz and ctz of 0 are
    those of the width, and nobody must use them."""
    given = value.sort
    assert isinstance(given, MachineSort)
    sort = machine(given.width, signed=False)
    bits = build.wrap(value, sort)
    if name.startswith("bswap"):
        return build.wrap(_swapped(bits, sort), result)
    tested = [_bit(bits, at, sort) for at in range(sort.width)]
    if name.startswith("bitreverse"):
        moved = (
            build.ite(bit, build.constant(1 << sort.width - 1 - at, sort), build.constant(0, sort))
            for at, bit in enumerate(tested)
        )
        return build.wrap(_united(moved), result)
    if name == "clrsb":  # how many bits after the sign are the same
        signs = build.ite(tested[-1], build.bit_not(bits), bits)
        return build.sub(count_bits("clz", signs, result), build.constant(1, result))
    if name in ("popcount", "parity"):
        total = build.constant(0, sort)
        for bit in tested:
            total = build.add(total, from_bool(bit, sort))
        if name == "parity":
            total = build.bit_and(total, build.constant(1, sort))
        return build.wrap(total, result)
    found = build.constant(0 if name == "ffs" else sort.width, result)
    order = range(sort.width) if name == "clz" else reversed(range(sort.width))
    for at in order:
        answer = sort.width - 1 - at if name == "clz" else at + (name == "ffs")
        found = build.ite(tested[at], build.constant(answer, result), found)
    return found


def _united(parts: Iterator[Expr]) -> Expr:
    total = next(parts)
    for part in parts:
        total = build.bit_or(total, part)
    return total


def _bit(bits: Expr, at: int, sort: MachineSort) -> Expr:
    masked = build.bit_and(bits, build.constant(1 << at, sort))
    return build.ne(masked, build.constant(0, sort))


def _swapped(bits: Expr, sort: MachineSort) -> Expr:
    total = build.constant(0, sort)
    for at in range(0, sort.width, 8):
        byte = build.bit_and(build.shr(bits, build.constant(at, sort)), build.constant(255, sort))
        moved = build.shl(byte, build.constant(sort.width - 8 - at, sort))
        total = moved if at == 0 else build.bit_or(total, moved)
    return total

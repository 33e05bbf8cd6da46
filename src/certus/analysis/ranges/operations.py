"""Interval arithmetic of the operators that are not linear (seed 002, section 5.1).

Each function gives bounds of all results for arguments within bounds, which are never empty. Results that
may leave the type may be any value of it. Dividing by zero and shifting too far give an arbitrary value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from certus.core.folding import truncating_quotient
from certus.core.terms import Kind

INFINITE: Final = 1 << 256  # beyond all machine integers; a bound this large is none
Bounds = tuple[int, int]


def operate(kind: Kind, given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    """The results of an operator on a type with these limits and this width (0 for Int)."""
    rule = _RULES.get(kind)
    if rule is None:
        return limits
    low, high = rule(given, limits, width)
    if low < limits[0] or high > limits[1]:
        return limits
    return low, high


def clamp(value: int) -> int:
    return max(-INFINITE, min(INFINITE, value))


def _unbounded(bounds: Bounds) -> bool:
    return bounds[0] <= -INFINITE or bounds[1] >= INFINITE


def _product(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    if len(given) == 1:
        return _square(given[0])
    (a, b), (c, d) = given
    if _unbounded(given[0]) or _unbounded(given[1]):
        if (0, 0) in given:
            return 0, 0
        nonnegative = (a >= 0 and c >= 0) or (b <= 0 and d <= 0)
        return (0 if nonnegative else -INFINITE), INFINITE
    corners = (a * c, a * d, b * c, b * d)
    return clamp(min(corners)), clamp(max(corners))


def _square(bounds: Bounds) -> Bounds:
    """The squares of a number: never negative."""
    low, high = bounds
    if _unbounded(bounds):
        return 0, INFINITE
    ends = (low * low, high * high)
    return 0 if low <= 0 <= high else min(ends), clamp(max(ends))


def _quotient(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    if c <= 0 <= d or _unbounded(given[0]):
        return limits
    divisors = {c, d}
    ends = [truncating_quotient(x, y) for x in (a, b) for y in sorted(divisors)]
    if a < 0 < b:
        ends.append(0)
    return min(ends), max(ends)


def _remainder(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    if c <= 0 <= d:
        return limits
    if a >= 0 and b < min(abs(c), abs(d)):
        return a, b
    if (
        c == d
        and not _unbounded(given[0])
        and (times := truncating_quotient(a, c)) == truncating_quotient(b, c)
    ):
        return a - times * c, b - times * c
    most = _below(c, d)
    return (0 if a >= 0 else max(-most, a)), (0 if b <= 0 else min(most, b))


def _below(c: int, d: int) -> int:
    """The greatest remainder by a divisor between `c` and `d`."""
    most = max(abs(c), abs(d))
    return INFINITE if most >= INFINITE else most - 1


def _euclidean_quotient(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    if c != d or c == 0 or _unbounded(given[0]):
        return limits
    ends = [_floor_divide(a, c), _floor_divide(b, c)]
    return min(ends), max(ends)


def _floor_divide(a: int, c: int) -> int:
    """SMT-LIB's `div`: the remainder is never negative."""
    return a // c if c > 0 else -(a // -c)


def _euclidean_remainder(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    if c <= 0 <= d:
        return limits
    if a >= 0 and b < min(abs(c), abs(d)):
        return a, b
    if c == d and not _unbounded(given[0]) and (times := _floor_divide(a, c)) == _floor_divide(b, c):
        return a - times * c, b - times * c
    return 0, _below(c, d)


def _shift_left(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    if c < 0 or d >= width:
        return limits
    ends = (a << c, a << d, b << c, b << d)
    return min(ends), max(ends)


def _shift_right(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    if c < 0 or d >= width:
        return limits
    ends = (a >> c, a >> d, b >> c, b >> d)
    return min(ends), max(ends)


def _bits(value: int) -> int:
    """All numbers of as many bits as `value`."""
    return (1 << value.bit_length()) - 1


def _bit_and(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    if a >= 0 and c >= 0:
        return 0, min(b, d)
    if a >= 0:
        return 0, b
    if c >= 0:
        return 0, d
    return -1 - _bits(max(~a, ~c)), max(b, d, 0) if b < 0 or d < 0 else _bits(max(b, d))


def _bit_or(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    if a >= 0 and c >= 0:
        return max(a, c), _bits(max(b, d))
    low = min(a, c) if a < 0 or c < 0 else 0
    return low, -1 if b < 0 or d < 0 else _bits(max(b, d))


def _bit_xor(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = given
    most = _bits(max(a if a >= 0 else ~a, b if b >= 0 else ~b, c if c >= 0 else ~c, d if d >= 0 else ~d))
    if a >= 0 and c >= 0:
        return 0, most
    return -1 - most, most


def _bit_not(given: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    ((a, b),) = given
    if limits[0] == 0:  # unsigned: all bits of the type are flipped
        return limits[1] - b, limits[1] - a
    return ~b, ~a


Rule = Callable[[Sequence[Bounds], Bounds, int], Bounds]

_RULES: Final[dict[Kind, Rule]] = {
    Kind.MUL: _product,
    Kind.QUOT: _quotient,
    Kind.REM: _remainder,
    Kind.DIV: _euclidean_quotient,
    Kind.MOD: _euclidean_remainder,
    Kind.SHL: _shift_left,
    Kind.SHR: _shift_right,
    Kind.BIT_AND: _bit_and,
    Kind.BIT_OR: _bit_or,
    Kind.BIT_XOR: _bit_xor,
    Kind.BIT_NOT: _bit_not,
}

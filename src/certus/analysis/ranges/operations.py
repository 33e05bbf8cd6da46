"""Interval arithmetic of the nonlinear operators (Zaks et al. 2006, section 5.1).

Each function returns bounds of all results for arguments within bounds, which are never empty. Results that
may leave the type may be any value of it. Division by zero and shifts beyond the width have arbitrary
results. Bounds are pairs of numbers, not `core.intervals`, because they are compared and widened in the inner
loop of the propagation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from certus.core.terms import Kind
from certus.core.values import truncating_quotient

INFINITE: Final = 1 << 256  # beyond all machine integers; a bound this large means no bound
Bounds = tuple[int, int]
NOTHING: Final[Bounds] = (INFINITE, -INFINITE)  # no value


def operate(kind: Kind, arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    """Return bounds of an operator on a type with these limits and this width (0 for Int)."""
    rule = _RULES.get(kind)
    if rule is None:
        return limits
    low, high = rule(arguments, limits, width)
    if low < limits[0] or high > limits[1]:
        return limits
    return low, high


def clamp(value: int) -> int:
    return max(-INFINITE, min(INFINITE, value))


def _unbounded(bounds: Bounds) -> bool:
    return bounds[0] <= -INFINITE or bounds[1] >= INFINITE


def _product(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    if len(arguments) == 1:
        return _square(arguments[0])
    (a, b), (c, d) = arguments
    if _unbounded(arguments[0]) or _unbounded(arguments[1]):
        if (0, 0) in arguments:
            return 0, 0
        nonnegative = (a >= 0 and c >= 0) or (b <= 0 and d <= 0)
        return (0 if nonnegative else -INFINITE), INFINITE
    corners = (a * c, a * d, b * c, b * d)
    return clamp(min(corners)), clamp(max(corners))


def _square(bounds: Bounds) -> Bounds:
    """Return bounds of the squares, which are never negative."""
    low, high = bounds
    if _unbounded(bounds):
        return 0, INFINITE
    ends = (low * low, high * high)
    return 0 if low <= 0 <= high else min(ends), clamp(max(ends))


def _quotient(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    if c <= 0 <= d or _unbounded(arguments[0]):
        return limits
    divisors = {c, d}
    ends = [truncating_quotient(x, y) for x in (a, b) for y in sorted(divisors)]
    if a < 0 < b:
        ends.append(0)
    return min(ends), max(ends)


def _remainder(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    if c <= 0 <= d:
        return limits
    if a >= 0 and b < min(abs(c), abs(d)):
        return a, b
    if (
        c == d
        and not _unbounded(arguments[0])
        and (times := truncating_quotient(a, c)) == truncating_quotient(b, c)
    ):
        return a - times * c, b - times * c
    most = _below(c, d)
    return (0 if a >= 0 else max(-most, a)), (0 if b <= 0 else min(most, b))


def _below(c: int, d: int) -> int:
    """Return the greatest remainder by a divisor between `c` and `d`."""
    most = max(abs(c), abs(d))
    return INFINITE if most >= INFINITE else most - 1


def _euclidean_quotient(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    if c != d or c == 0 or _unbounded(arguments[0]):
        return limits
    ends = [_floor_divide(a, c), _floor_divide(b, c)]
    return min(ends), max(ends)


def _floor_divide(a: int, c: int) -> int:
    """Divide as `div` of SMT-LIB: the remainder is never negative."""
    return a // c if c > 0 else -(a // -c)


def _euclidean_remainder(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    if c <= 0 <= d:
        return limits
    if a >= 0 and b < min(abs(c), abs(d)):
        return a, b
    if c == d and not _unbounded(arguments[0]) and (times := _floor_divide(a, c)) == _floor_divide(b, c):
        return a - times * c, b - times * c
    return 0, _below(c, d)


def _shift_left(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    if c < 0 or d >= width:
        return limits
    ends = (a << c, a << d, b << c, b << d)
    return min(ends), max(ends)


def _shift_right(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    if c < 0 or d >= width:
        return limits
    ends = (a >> c, a >> d, b >> c, b >> d)
    return min(ends), max(ends)


def _bits(value: int) -> int:
    """Return the greatest number with as many bits as `value`."""
    return (1 << value.bit_length()) - 1


def _bit_and(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    if a >= 0 and c >= 0:
        return 0, min(b, d)
    if a >= 0:
        return 0, b
    if c >= 0:
        return 0, d
    return -1 - _bits(max(~a, ~c)), max(b, d, 0) if b < 0 or d < 0 else _bits(max(b, d))


def _bit_or(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    if a >= 0 and c >= 0:
        return max(a, c), _bits(max(b, d))
    low = min(a, c) if a < 0 or c < 0 else 0
    return low, -1 if b < 0 or d < 0 else _bits(max(b, d))


def _bit_xor(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    (a, b), (c, d) = arguments
    most = _bits(max(a if a >= 0 else ~a, b if b >= 0 else ~b, c if c >= 0 else ~c, d if d >= 0 else ~d))
    if a >= 0 and c >= 0:
        return 0, most
    return -1 - most, most


def _bit_not(arguments: Sequence[Bounds], limits: Bounds, width: int) -> Bounds:
    ((a, b),) = arguments
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

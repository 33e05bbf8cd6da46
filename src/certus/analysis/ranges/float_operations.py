"""Interval arithmetic on the ranks of floating-point numbers (`float_order`).

Rounding is monotone, so the operations are monotone in each argument where its sign and those of the others
are fixed, and the extreme results are at the ends. They are computed in the mode of the operation: the bounds
are exact. If the mode is not known, the least result is rounded down and the greatest up, which encloses all
modes. Where an operation on numbers may be NaN (0/0, infinity - infinity), nothing else is known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Final

from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.operations import Bounds
from certus.core import floats
from certus.core.floats import DOWN, MODES, UP
from certus.core.terms import Kind
from certus.core.values import FLOAT_OPERATIONS

NEGATION: Final = "-"  # operations on patterns that are simple on ranks
MAGNITUDE: Final = "fabs"
SIGNED: Final = "copysign"  # a number with the sign of something else
PATTERN: Final = "pattern"  # from a rank to its pattern, as an integer
RANK: Final = "rank"
_ZEROS: Final = (-1, 0)


def operate(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    """Return bounds of the result of an operation for arguments within bounds, which are not empty; those of
    integers that F_TO returns are not limited to a type."""
    return _RULES[rule](rule, orders, arguments)


def _rounded(mode: Bounds) -> tuple[int, int]:
    """Return the modes in which the least and the greatest result are computed."""
    return (mode[0], mode[0]) if mode[0] == mode[1] and mode[0] in MODES else (DOWN, UP)


def _ends(
    kind: Kind, orders: Sequence[FloatOrder], mode: Bounds, boxes: Iterable[Sequence[Bounds]]
) -> Bounds:
    """Return the least and the greatest result at the corners of the boxes."""
    source, target = orders[0], orders[-1]
    formats = [each.format for each in orders]
    compute = FLOAT_OPERATIONS[kind]
    low_mode, high_mode = _rounded(mode)
    corners = [tuple(map(source.pattern, corner)) for box in boxes for corner in product(*map(set, box))]
    low = min(target.rank(int(compute(*formats, *corner, low_mode))) for corner in corners)
    high = max(target.rank(int(compute(*formats, *corner, high_mode))) for corner in corners)
    return low, high


def _meets(a: Bounds, b: Bounds) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def _infinite(order: FloatOrder, bounds: Bounds) -> bool:
    return bounds[0] <= order.numbers[0] or bounds[1] >= order.infinity


def _arithmetic(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    assert isinstance(rule, Kind)
    *operands, mode = arguments
    order = orders[0]
    parts, nans = zip(*map(order.split, operands), strict=True)
    numbers = [each for each in parts if each is not None]
    if len(numbers) < len(parts):
        return order.nan, order.nan
    if _NAN[rule](order, numbers):
        return order.numbers[0], order.nan
    boxes = [numbers]
    if rule is Kind.F_DIV:
        boxes = [[numbers[0], divisor] for divisor in _by_sign(numbers[1])]
    low, high = _ends(rule, orders, mode, boxes)
    return low, order.nan if any(nans) else high


def _by_sign(bounds: Bounds) -> list[Bounds]:
    low, high = bounds
    return [(low, -1), (0, high)] if low < 0 <= high else [bounds]


def _sum_is_nan(order: FloatOrder, numbers: Sequence[Bounds]) -> bool:
    (a, b), (c, d) = numbers
    least, most = order.numbers
    return (a <= least and d >= most) or (b >= most and c <= least)


def _difference_is_nan(order: FloatOrder, numbers: Sequence[Bounds]) -> bool:
    (c, d) = numbers[1]
    return _sum_is_nan(order, (numbers[0], (-d - 1, -c - 1)))


def _product_is_nan(order: FloatOrder, numbers: Sequence[Bounds]) -> bool:
    a, b = numbers[:2]
    return (_meets(a, _ZEROS) and _infinite(order, b)) or (_meets(b, _ZEROS) and _infinite(order, a))


def _quotient_is_nan(order: FloatOrder, numbers: Sequence[Bounds]) -> bool:
    a, b = numbers
    zero = _meets(a, _ZEROS) and _meets(b, _ZEROS)
    return zero or (_infinite(order, a) and _infinite(order, b))


def _fused_is_nan(order: FloatOrder, numbers: Sequence[Bounds]) -> bool:
    infinite = [_infinite(order, each) for each in numbers]
    return _product_is_nan(order, numbers) or (infinite[2] and (infinite[0] or infinite[1]))


_NAN: Final[dict[Kind, Callable[[FloatOrder, Sequence[Bounds]], bool]]] = {
    Kind.F_ADD: _sum_is_nan,
    Kind.F_SUB: _difference_is_nan,
    Kind.F_MUL: _product_is_nan,
    Kind.F_DIV: _quotient_is_nan,
    Kind.F_FMA: _fused_is_nan,
}


def _monotone(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    """A rounding: to an integer, or to another format."""
    assert isinstance(rule, Kind)
    source, target = orders[0], orders[-1]
    numbers, nan = source.split(arguments[0])
    if numbers is None:
        return target.nan, target.nan
    low, high = _ends(rule, orders, arguments[1], [[numbers]])
    return low, target.nan if nan else high


def _square_root(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    order = orders[0]
    numbers, nan = order.split(arguments[0])
    if numbers is None or numbers[1] < -1:
        return order.nan, order.nan
    low, high = _ends(Kind.F_SQRT, orders, arguments[1], [[(max(numbers[0], -1), numbers[1])]])
    return low, order.nan if nan or numbers[0] < -1 else high


def _remainder(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    """The magnitude is at most that of the dividend, and half of the divisor's."""
    order = orders[0]
    (a, nan), (b, other_nan) = map(order.split, arguments)
    if a is None or b is None:
        return order.nan, order.nan
    if _infinite(order, a) or _meets(b, _ZEROS):
        return order.numbers[0], order.nan
    two = floats.from_integer(order.format, 2)
    half = floats.divide(order.format, order.pattern(_size(b)), two, UP)
    most = min(_size(a), order.rank(half))
    return -most - 1, order.nan if nan or other_nan else most


def _size(bounds: Bounds) -> int:
    return max(bounds[1], -bounds[0] - 1)


def _to_integer(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    order = orders[0]
    numbers, nan = order.split(arguments[0])
    if numbers is None or nan or _infinite(order, numbers):
        return _NOT_FITTING
    format = order.format
    low, high = (floats.to_fraction(format, order.pattern(end)) for end in numbers)
    assert low is not None
    assert high is not None
    return int(low), int(high)


def _from_integer(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    order, (low, high) = orders[-1], arguments[0]
    low_mode, high_mode = _rounded(arguments[1])
    least = floats.from_integer(order.format, low, low_mode)
    return order.rank(least), order.rank(floats.from_integer(order.format, high, high_mode))


def _negation(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    ((low, high),) = arguments
    return -high - 1, -low - 1


def _magnitude(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    ((low, high),) = arguments
    if low >= 0:
        return low, high
    return (-high - 1, -low - 1) if high < 0 else (0, max(high, -low - 1))


def _with_sign(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    most = _size(arguments[0])
    return -most - 1, most


def _pattern(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    order, (low, high) = orders[0], arguments[0]
    if order.format.explicit or low < 0 <= high:
        return 0, 2 * order.format.sign - 1
    ends = order.pattern(low), order.pattern(high)
    return min(ends), max(ends)


def _rank(rule: Kind | str, orders: Sequence[FloatOrder], arguments: Sequence[Bounds]) -> Bounds:
    order, (low, high) = orders[0], arguments[0]
    if low == high:
        return order.rank(low), order.rank(low)
    if order.format.explicit:
        return order.limits
    if low < order.format.sign <= high:
        return order.rank(high), order.limits[1]
    ends = order.rank(low), order.rank(high)
    return min(ends), max(ends)


_NOT_FITTING: Final[Bounds] = (-(1 << 255), 1 << 255)  # beyond all types
Rule = Callable[[Kind | str, Sequence[FloatOrder], Sequence[Bounds]], Bounds]
_RULES: Final[dict[Kind | str, Rule]] = {
    **dict.fromkeys(_NAN, _arithmetic),
    Kind.F_REM: _remainder,
    Kind.F_SQRT: _square_root,
    Kind.F_RTI: _monotone,
    Kind.F_CONVERT: _monotone,
    Kind.F_FROM: _from_integer,
    Kind.F_TO: _to_integer,
    NEGATION: _negation,
    MAGNITUDE: _magnitude,
    SIGNED: _with_sign,
    PATTERN: _pattern,
    RANK: _rank,
}

"""What holds in every C library for functions of `math.h` without exact results, such as `sin` and `pow`.

The C standard fixes some values, such as `pow(x, 0)`; these are exact. Other results only have bounds,
because libraries differ. The bounds hold only while the rounding mode is to nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from certus.core import build
from certus.core import floats as numbers
from certus.core.floats import DOWN, UP, Format
from certus.core.terms import Expr
from certus.frontend.c.model import floats

_SIGNALLING: Final = 1  # the class of NaNs for which C fixes nothing, and libraries return a NaN


class Known(NamedTuple):
    """What is known about a result: exact values under conditions, and bounds in rounding to nearest."""

    exact: list[tuple[Expr, Expr]]
    bounds: Expr


def known(format: Format, name: str, args: Sequence[Expr], result: Expr) -> Known:
    """Return what is known about the result of a function of `math_functions.BOUNDED`."""
    facts = _Facts(format, result, args)
    if len(args) == 1:
        facts.nan_if(build.not_(floats.is_number(format, args[0])))
    _KNOWN[name](facts)
    return Known(facts.exact, build.conjunction(facts.bounds))


def _between(format: Format, r: Expr, low: Fraction | int, high: Fraction | int) -> Expr:
    least = floats.constant(numbers.from_fraction(format, DOWN, Fraction(low)), format)
    most = floats.constant(numbers.from_fraction(format, UP, Fraction(high)), format)
    return build.and_(floats.less_equal(format, least, r), floats.less_equal(format, r, most))


_QUARTER: Final = Fraction(1570796326794896619232, 10**21)  # a quarter of the circle, rounded up
_HALF: Final = Fraction(3141592653589793238463, 10**21)


class _Facts:
    """Collects what is known about the result `r` of a function."""

    def __init__(self, format: Format, r: Expr, args: Sequence[Expr]) -> None:
        self.format, self.r, self.args = format, r, args
        self.exact: list[tuple[Expr, Expr]] = []
        self.bounds: list[Expr] = []
        self.zero = floats.constant(0, format)
        self.one = floats.constant(numbers.from_integer(format, 1), format)
        self.infinity = floats.constant(format.infinity, format)
        self.is_nan = build.not_(floats.is_number(format, r))
        self.quiet = build.conjunction(build.not_(floats.is_class(format, a, _SIGNALLING)) for a in args)

    def known(self, condition: Expr, fact: Expr) -> None:
        self.bounds.append(build.implies(condition, fact))

    def nan_if(self, condition: Expr) -> None:
        self.known(condition, self.is_nan)

    def number(self, condition: Expr) -> None:
        """State that the result is a number if a condition holds."""
        self.known(condition, build.not_(self.is_nan))

    def finite(self, a: Expr) -> Expr:
        return floats.is_class(self.format, a, 504)

    def negative(self, a: Expr) -> Expr:
        return floats.less(self.format, a, self.zero)

    def exactly(self, value: Expr, result: Expr) -> None:
        """State the result at one value of the first argument."""
        self.exact.append((floats.equal(self.format, self.args[0], value), result))


def _periodic(b: _Facts, *, name: str) -> None:
    x = b.args[0]
    b.nan_if(build.not_(b.finite(x)))
    b.number(b.finite(x))
    if name != "tan":
        b.known(b.finite(x), _between(b.format, b.r, -1, 1))
    b.exactly(b.zero, b.one if name == "cos" else x)  # zero keeps its sign


def _odd(low: Fraction | int) -> Callable[[_Facts], None]:
    """Bound a function that is odd, monotone and below a limit: `atan`, `tanh`, `erf`."""

    def bound(b: _Facts) -> None:
        x = b.args[0]
        b.number(floats.is_number(b.format, x))
        b.known(floats.is_number(b.format, x), _between(b.format, b.r, -low, low))
        b.known(floats.less_equal(b.format, b.zero, x), floats.less_equal(b.format, b.zero, b.r))
        b.known(floats.less_equal(b.format, x, b.zero), floats.less_equal(b.format, b.r, b.zero))
        b.exactly(b.zero, x)

    return bound


def _arc(low: Fraction | int, high: Fraction | int) -> Callable[[_Facts], None]:
    def bound(b: _Facts) -> None:
        inside = _between(b.format, b.args[0], -1, 1)
        b.nan_if(build.not_(inside))
        b.number(inside)
        b.known(inside, _between(b.format, b.r, low, high))
        if low:
            b.exactly(b.zero, b.args[0])
        else:  # `acos`
            b.exactly(b.one, b.zero)

    return bound


def _exponential(b: _Facts) -> None:
    x = b.args[0]
    number = floats.is_number(b.format, x)
    b.number(number)
    b.known(number, floats.less_equal(b.format, b.zero, b.r))
    b.known(floats.less_equal(b.format, x, b.zero), floats.less_equal(b.format, b.r, b.one))
    b.known(floats.less_equal(b.format, b.zero, x), floats.less_equal(b.format, b.one, b.r))
    b.exactly(b.zero, b.one)
    b.exactly(b.infinity, b.infinity)
    b.exactly(floats.negated(b.format, b.infinity), b.zero)


def _logarithm(b: _Facts) -> None:
    x, infinite = b.args[0], floats.negated(b.format, b.infinity)
    b.nan_if(b.negative(x))
    b.number(floats.less_equal(b.format, b.zero, x))
    b.known(floats.less_equal(b.format, b.one, x), floats.less_equal(b.format, b.zero, b.r))
    inside = build.and_(floats.less_equal(b.format, b.zero, x), floats.less_equal(b.format, x, b.one))
    b.known(inside, floats.less_equal(b.format, b.r, b.zero))
    b.exactly(b.zero, infinite)
    b.exactly(b.one, b.zero)
    b.exactly(b.infinity, b.infinity)


def _power(b: _Facts) -> None:
    x, y = b.args
    zero, one = floats.equal(b.format, y, b.zero), floats.equal(b.format, x, b.one)
    b.exact.append((build.and_(build.or_(zero, one), b.quiet), b.one))  # also if the other argument is NaN
    not_below = build.and_(floats.less_equal(b.format, b.zero, x), floats.is_number(b.format, y))
    b.number(not_below)
    negative_zero = floats.is_negative(b.format, x)  # its power -3 is negative infinity
    b.known(build.and_(not_below, build.not_(negative_zero)), floats.less_equal(b.format, b.zero, b.r))


def _length(b: _Facts) -> None:
    both = build.conjunction(floats.is_number(b.format, a) for a in b.args)
    b.number(both)
    b.known(both, floats.less_equal(b.format, b.zero, b.r))
    x, y = (floats.magnitude(b.format, a) for a in b.args)
    infinite = build.or_(*(floats.equal(b.format, a, b.infinity) for a in (x, y)))
    b.exact.append((build.and_(infinite, b.quiet), b.infinity))  # also if the other argument is NaN
    b.exact.append((build.and_(both, floats.equal(b.format, x, b.zero)), y))
    b.exact.append((build.and_(both, floats.equal(b.format, y, b.zero)), x))


def _angle(b: _Facts) -> None:
    both = build.conjunction(floats.is_number(b.format, a) for a in b.args)
    b.number(both)
    b.known(both, _between(b.format, b.r, -_HALF, _HALF))
    y, x = b.args
    rightwards = build.and_(floats.is_number(b.format, x), build.not_(floats.is_negative(b.format, x)))
    b.exact.append((build.and_(floats.equal(b.format, y, b.zero), rightwards), y))


def _anything(_: _Facts) -> None:
    """Add nothing to what holds for all functions."""


def _through_zero(b: _Facts) -> None:
    b.exactly(b.zero, b.args[0])


_KNOWN: Final[dict[str, Callable[[_Facts], None]]] = {
    "sin": lambda b: _periodic(b, name="sin"),
    "cos": lambda b: _periodic(b, name="cos"),
    "tan": lambda b: _periodic(b, name="tan"),
    "asin": _arc(-_QUARTER, _QUARTER),
    "acos": _arc(0, _HALF),
    "atan": _odd(_QUARTER),
    "tanh": _odd(1),
    "erf": _odd(1),
    "atan2": _angle,
    "exp": _exponential,
    "exp2": _exponential,
    "exp10": _exponential,
    "log": _logarithm,
    "log2": _logarithm,
    "log10": _logarithm,
    "pow": _power,
    "hypot": _length,
    **dict.fromkeys(("sinh", "asinh", "atanh", "cbrt", "expm1", "log1p"), _through_zero),
    "cosh": lambda b: b.exactly(b.zero, b.one),
    **dict.fromkeys(("acosh", "erfc", "tgamma", "lgamma", "gamma", "j0", "j1", "y0", "y1"), _anything),
}

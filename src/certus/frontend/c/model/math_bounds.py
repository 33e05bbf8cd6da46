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
        facts.nan_if(build.not_(facts.is_number(args[0])))
    if name in _KNOWN:
        _KNOWN[name](facts)
    return Known(facts.exact, build.conjunction(facts.bounds))


_QUARTER: Final = Fraction(1570796326794896619232, 10**21)  # a quarter of the circle, rounded up
_HALF: Final = Fraction(3141592653589793238463, 10**21)


class _Facts:
    """Collects what is known about the result `r` of a function. A comparison is false if an operand is NaN,
    so bounds of a result also say that it is a number."""

    def __init__(self, format: Format, r: Expr, args: Sequence[Expr]) -> None:
        self.format, self.r, self.args = format, r, args
        self.exact: list[tuple[Expr, Expr]] = []
        self.bounds: list[Expr] = []
        self.zero = floats.constant(0, format)
        self.one = floats.constant(numbers.from_integer(format, 1), format)
        self.infinity = floats.constant(format.infinity, format)
        self.quiet = build.conjunction(build.not_(floats.is_class(format, a, _SIGNALLING)) for a in args)

    def is_number(self, a: Expr) -> Expr:
        return floats.is_number(self.format, a)

    def is_finite(self, a: Expr) -> Expr:
        return floats.is_class(self.format, a, 504)

    def equal(self, a: Expr, b: Expr) -> Expr:
        return floats.equal(self.format, a, b)

    def in_order(self, a: Expr, b: Expr) -> Expr:
        return floats.less_equal(self.format, a, b)

    def between(self, low: Fraction | int, a: Expr, high: Fraction | int) -> Expr:
        least = floats.constant(numbers.from_fraction(self.format, DOWN, Fraction(low)), self.format)
        most = floats.constant(numbers.from_fraction(self.format, UP, Fraction(high)), self.format)
        return build.and_(self.in_order(least, a), self.in_order(a, most))

    def if_(self, condition: Expr, fact: Expr) -> None:
        """State a fact about the result."""
        self.bounds.append(build.implies(condition, fact))

    def nan_if(self, condition: Expr) -> None:
        self.if_(condition, build.not_(self.is_number(self.r)))

    def exactly(self, value: Expr, result: Expr) -> None:
        """State the result at one value of the first argument."""
        self.exact.append((self.equal(self.args[0], value), result))


def _periodic(b: _Facts, *, name: str) -> None:
    finite = b.is_finite(b.args[0])
    b.nan_if(build.not_(finite))
    b.if_(finite, b.is_number(b.r) if name == "tan" else b.between(-1, b.r, 1))
    b.exactly(b.zero, b.one if name == "cos" else b.args[0])  # zero keeps its sign


def _odd(limit: Fraction | int) -> Callable[[_Facts], None]:
    """Bound a function that is odd, monotone and below a limit: `atan`, `tanh`, `erf`."""

    def bound(b: _Facts) -> None:
        x = b.args[0]
        b.if_(b.is_number(x), b.between(-limit, b.r, limit))
        b.if_(b.in_order(b.zero, x), b.in_order(b.zero, b.r))
        b.if_(b.in_order(x, b.zero), b.in_order(b.r, b.zero))
        b.exactly(b.zero, x)

    return bound


def _arc(low: Fraction | int, high: Fraction | int) -> Callable[[_Facts], None]:
    def bound(b: _Facts) -> None:
        inside = b.between(-1, b.args[0], 1)
        b.nan_if(build.not_(inside))
        b.if_(inside, b.between(low, b.r, high))
        if low:
            b.exactly(b.zero, b.args[0])
        else:  # `acos`
            b.exactly(b.one, b.zero)

    return bound


def _exponential(b: _Facts) -> None:
    x = b.args[0]
    b.if_(b.is_number(x), b.in_order(b.zero, b.r))
    b.if_(b.in_order(x, b.zero), b.in_order(b.r, b.one))
    b.if_(b.in_order(b.zero, x), b.in_order(b.one, b.r))
    b.exactly(b.zero, b.one)
    b.exactly(b.infinity, b.infinity)
    b.exactly(floats.negated(b.format, b.infinity), b.zero)


def _logarithm(b: _Facts) -> None:
    x = b.args[0]
    b.nan_if(floats.less(b.format, x, b.zero))
    b.if_(b.in_order(b.one, x), b.in_order(b.zero, b.r))
    b.if_(build.and_(b.in_order(b.zero, x), b.in_order(x, b.one)), b.in_order(b.r, b.zero))
    b.exactly(b.zero, floats.negated(b.format, b.infinity))
    b.exactly(b.one, b.zero)
    b.exactly(b.infinity, b.infinity)


def _power(b: _Facts) -> None:
    x, y = b.args
    one = build.or_(b.equal(y, b.zero), b.equal(x, b.one))
    b.exact.append((build.and_(one, b.quiet), b.one))  # also if the other argument is NaN
    not_below = build.and_(b.in_order(b.zero, x), b.is_number(y))
    b.if_(not_below, b.is_number(b.r))
    negative_zero = floats.is_negative(b.format, x)  # its power -3 is negative infinity
    b.if_(build.and_(not_below, build.not_(negative_zero)), b.in_order(b.zero, b.r))


def _length(b: _Facts) -> None:
    both = build.conjunction(map(b.is_number, b.args))
    b.if_(both, b.in_order(b.zero, b.r))
    x, y = (floats.magnitude(b.format, a) for a in b.args)
    infinite = build.or_(b.equal(x, b.infinity), b.equal(y, b.infinity))
    b.exact.append((build.and_(infinite, b.quiet), b.infinity))  # also if the other argument is NaN
    b.exact.append((build.and_(both, b.equal(x, b.zero)), y))
    b.exact.append((build.and_(both, b.equal(y, b.zero)), x))


def _angle(b: _Facts) -> None:
    y, x = b.args
    b.if_(build.conjunction(map(b.is_number, b.args)), b.between(-_HALF, b.r, _HALF))
    rightwards = build.and_(b.is_number(x), build.not_(floats.is_negative(b.format, x)))
    b.exact.append((build.and_(b.equal(y, b.zero), rightwards), y))


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
    **dict.fromkeys(("exp", "exp2", "exp10"), _exponential),
    **dict.fromkeys(("log", "log2", "log10"), _logarithm),
    "pow": _power,
    "hypot": _length,
    **dict.fromkeys(
        ("sinh", "asinh", "atanh", "cbrt", "expm1", "log1p"), lambda b: b.exactly(b.zero, b.args[0])
    ),
    "cosh": lambda b: b.exactly(b.zero, b.one),
}

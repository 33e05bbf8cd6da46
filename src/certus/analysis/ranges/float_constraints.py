"""Definitions of quantities that are ranks of floating-point numbers: operations and comparisons.

A comparison with a number excludes NaN where it is true, and only then. Where it is false, an operand may be
NaN, so nothing follows for one operand while the other may be NaN. Comparisons ignore the sign of zero. What
follows for the converted, negated or absolute value of a variable, or for an integer that was converted, is
carried back to the variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

from certus.analysis.ranges import float_operations
from certus.analysis.ranges.float_operations import MAGNITUDE, NEGATION
from certus.analysis.ranges.float_order import FloatOrder, above, below
from certus.analysis.ranges.operations import INFINITE, NOTHING, Bounds
from certus.core import floats
from certus.core.floats import DOWN, UP
from certus.core.terms import Kind

AT_MOST, LESS, AT_LEAST, GREATER, EQUAL = "<=", "<", ">=", ">", "=="
DIFFERENT, NAN = "!=", "nan"


@dataclass(frozen=True, slots=True)
class FloatOperation:
    """An operation on ranks; the result of F_TO is an integer between `least` and `greatest`, or any of them
    if it does not fit."""

    rule: Kind | str
    orders: tuple[FloatOrder, ...]
    arguments: tuple[int, ...]
    least: int
    greatest: int

    def apply(self, arguments: Sequence[Bounds]) -> Bounds:
        low, high = float_operations.operate(self.rule, self.orders, arguments)
        fits = self.least <= low and high <= self.greatest
        return (low, high) if fits else (self.least, self.greatest)


@dataclass(frozen=True, slots=True)
class Step:
    """How a compared value is computed from another one: a negation, a magnitude, a conversion."""

    rule: Kind | str
    orders: tuple[FloatOrder, ...]

    @property
    def is_exact(self) -> bool:
        """Return whether different numbers stay different, and none is rounded."""
        if self.rule is Kind.F_CONVERT:
            source, target = (each.format for each in self.orders)
            return source.precision <= target.precision and source.exponent <= target.exponent
        return self.rule == NEGATION


@dataclass(frozen=True, slots=True)
class Compared:
    """The quantity `of` if the value that the `steps` compute from it has the `relation` to the quantity
    `other`, a rank of `order`. If `negated`, it may also be NaN, or the other one is."""

    of: int
    other: int
    relation: str
    order: FloatOrder
    steps: tuple[Step, ...] = ()
    negated: bool = False

    def restrict(self, of: Bounds, other: Bounds) -> Bounds:
        """Return the bounds of the quantity from its own and those of the other one."""
        numbers, nan = self.order.split(other)
        if self.relation == NAN:
            return _hull(self._nans(of))
        if self.negated and nan:
            return of
        if numbers is None:
            return NOTHING
        own = _domain(self.steps, self.order)
        kept = of if own is None else own.split(of)[0]
        if kept is not None:
            kept = self._met(kept, numbers)
        parts = [] if kept is None else [kept]
        return _hull([*parts, *self._nans(of)] if self.negated else parts)

    def _nans(self, of: Bounds) -> list[Bounds]:
        """Return the ranks of NaN within bounds, below and above the numbers."""
        order = _domain(self.steps, self.order)
        if order is None:
            return []
        least, most = order.numbers
        sides = ((of[0], min(of[1], least - 1)), (max(of[0], most + 1), of[1]))
        return [(low, high) for low, high in sides if low <= high]

    def _met(self, of: Bounds, other: Bounds) -> Bounds | None:
        low, high = of
        if self.relation == DIFFERENT:
            if (other[0] < other[1] and not -1 <= other[0] < other[1] <= 0) or not all(
                step.is_exact for step in self.steps
            ):
                return of
            least, most = self._carried(_value(other), of)
            low = most + 1 if least <= low <= most else low
            high = least - 1 if least <= high <= most else high
        else:
            least, most = self._carried(self._allowed(other), of)
            low, high = max(low, least), min(high, most)
        return (low, high) if low <= high else None

    def _allowed(self, other: Bounds) -> Bounds:
        least, most = self.order.numbers
        low, high = _value(other)
        if self.relation == AT_MOST:
            return least, high
        if self.relation == LESS:
            return least, below(high)
        if self.relation == AT_LEAST:
            return low, most
        return (above(low), most) if self.relation == GREATER else (low, high)

    def _carried(self, allowed: Bounds, of: Bounds) -> Bounds:
        for number, step in enumerate(self.steps):
            if allowed[0] > allowed[1]:
                return NOTHING
            last = number == len(self.steps) - 1
            allowed = _carried_back(step, allowed, of if last else None)
        return allowed


def _hull(parts: Sequence[Bounds]) -> Bounds:
    if not parts:
        return NOTHING
    return min(low for low, _ in parts), max(high for _, high in parts)


def _value(bounds: Bounds) -> Bounds:
    """Return bounds with both zeros if one of them is an end."""
    low, high = bounds
    return -1 if low == 0 else low, 0 if high == -1 else high


def _domain(steps: Sequence[Step], order: FloatOrder) -> FloatOrder | None:
    """Return the order of the values that the last step starts from; None for integers."""
    for step in steps:
        if step.rule is Kind.F_FROM:
            return None
        order = step.orders[0]
    return order


def _carried_back(step: Step, allowed: Bounds, of: Bounds | None) -> Bounds:
    """Return bounds of all values for which the result of a step is within bounds."""
    low, high = allowed
    if step.rule == NEGATION:
        return -high - 1, -low - 1
    if step.rule == MAGNITUDE:
        if high < 0:
            return NOTHING
        if of is not None and low > 0 and (of[0] >= 0 or of[1] < 0):
            return (low, high) if of[0] >= 0 else (-high - 1, -low - 1)
        return -high - 1, high
    if step.rule is Kind.F_FROM:
        low, high = _value(allowed)
        return -_greatest_integer(step.orders[-1], -low - 1), _greatest_integer(step.orders[-1], high)
    source, target = step.orders
    if not step.is_exact:
        low, high = max(low - 1, target.numbers[0]), min(high + 1, target.infinity)
    least = floats.convert(target.format, source.format, target.pattern(low), UP)
    most = floats.convert(target.format, source.format, target.pattern(high), DOWN)
    return source.rank(least), source.rank(most)


def _greatest_integer(order: FloatOrder, rank: int) -> int:
    """Return an integer that is at least all those that are rounded to a number up to a rank."""
    beyond = floats.to_fraction(order.format, order.pattern(min(rank + 1, order.infinity)))
    if beyond is None:
        return INFINITE if rank >= 0 else -INFINITE
    number = floor(beyond)
    down, up = (floats.from_integer(order.format, number, mode) for mode in (DOWN, UP))
    return number - 1 if down == up and order.rank(down) > rank else number

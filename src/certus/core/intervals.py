"""Integer intervals, their arithmetic, and the bounds that the conjuncts of a formula state.

Two other places compute with bounds for reasons of their own. `analysis.ranges.operations` works on pairs of
numbers in the inner loop of a fixpoint, and treats the bounds of machine types as infinities.
`interpreter.bounded_unknowns` is a value that a run computes with; it never over-approximates, but refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from certus.core.terms import INT, Expr, Kind, MachineSort, Sort
from certus.core.values import truncating_quotient


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `low` to `high`; None means no bound on that side. Never empty."""

    low: int | None
    high: int | None

    def within(self, other: Interval) -> bool:
        """Return whether every number of this interval is in the other."""
        above = other.low is None or (self.low is not None and other.low <= self.low)
        below = other.high is None or (self.high is not None and self.high <= other.high)
        return above and below

    def hull(self, other: Interval) -> Interval:
        """Return the least interval with the numbers of both."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Interval(low, high)

    def meet(self, other: Interval) -> Interval | None:
        """Return the interval of the numbers in both, None if there are none."""
        lows = [x for x in (self.low, other.low) if x is not None]
        highs = [x for x in (self.high, other.high) if x is not None]
        low, high = max(lows, default=None), min(highs, default=None)
        return None if low is not None and high is not None and low > high else Interval(low, high)

    def plus(self, other: Interval) -> Interval:
        """Return the interval of all sums."""
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Interval(low, high)

    def scaled(self, factor: int) -> Interval:
        """Return the interval of all multiples by a number that is not 0."""
        low = None if self.low is None else factor * self.low
        high = None if self.high is None else factor * self.high
        return Interval(low, high) if factor > 0 else Interval(high, low)

    def times(self, other: Interval) -> Interval:
        """Return an interval of all products. If a factor is unbounded, the product is bounded only where the
        other factor is a single number."""
        for one, factor in ((self, other), (other, self)):
            if factor.low is not None and factor.low == factor.high:
                return one.scaled(factor.low) if factor.low != 0 else factor
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return ANY
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(corners), max(corners))

    @property
    def magnitude(self) -> int | None:
        """The largest absolute value, None if there is none."""
        return None if self.low is None or self.high is None else max(abs(self.low), abs(self.high))


ANY = Interval(None, None)


def point(value: int) -> Interval:
    """Return the interval of one number."""
    return Interval(value, value)


def of_sort(sort: Sort) -> Interval:
    """Return the interval of all values of a sort of numbers."""
    return Interval(sort.low, sort.high) if isinstance(sort, MachineSort) else ANY


def of_operation(kind: Kind, arguments: Sequence[Interval]) -> Interval:
    """Return an interval of the values of an operation on mathematical integers within the intervals."""
    if kind is Kind.ADD:
        return reduce(Interval.plus, arguments)
    if kind is Kind.MUL:
        return reduce(Interval.times, arguments)
    if kind is Kind.MOD and not point(0).within(arguments[1]):
        size = arguments[1].magnitude
        return Interval(0, None if size is None else size - 1)
    return ANY


def quotient(a: Interval, b: Interval) -> Interval:
    """Return an interval of the truncating quotients of `a` by the non-zero numbers of `b`."""
    if a.low is None or a.high is None:
        return ANY
    if b.low is not None and b.low == b.high and b.low != 0:
        ends = [truncating_quotient(end, b.low) for end in (a.low, a.high)]
        return Interval(min(ends), max(ends))
    if a.low >= 0 and b.low is not None and b.low >= 0:
        return Interval(0, a.high)
    size = max(abs(a.low), abs(a.high))
    return Interval(-size, size)


def remainder(a: Interval, b: Interval) -> Interval:
    """Return an interval of the truncating remainders of `a` by the non-zero numbers of `b`: they are smaller
    than the divisor and have the sign of `a`."""
    size = b.magnitude
    below = None if size is None else max(size - 1, 0)
    lows = [x for x in (below, None if a.low is None else -min(a.low, 0)) if x is not None]
    highs = [x for x in (below, None if a.high is None else max(a.high, 0)) if x is not None]
    low = -min(lows) if lows else None
    high = min(highs) if highs else None
    if a.low is not None and a.low >= 0:
        low = 0
    if a.high is not None and a.high <= 0:
        high = 0
    return Interval(low, high)


# ------------------------------------------------------------------------------------- facts


def conjuncts(formula: Expr) -> tuple[Expr, ...]:
    """Return the parts of a conjunction, or the formula itself if it is another one."""
    return formula.args if formula.kind is Kind.AND else (formula,)


def bounds(parts: Iterable[Expr]) -> dict[Expr, Interval]:
    """Return the intervals of variables that follow from comparisons with constants among the `parts`, all of
    which are true.

    Of contradictory comparisons one is ignored: the formula is unsatisfiable with any interval."""
    intervals: dict[Expr, Interval] = {}
    for part in parts:
        bound = _bound(part)
        if bound is not None:
            variable, interval = bound
            met = intervals.get(variable, of_sort(variable.sort)).meet(interval)
            if met is not None:
                intervals[variable] = met
    return intervals


def _bound(part: Expr) -> tuple[Expr, Interval] | None:
    """Read `part` as a bound on an Int or machine variable; None if it is not one."""
    negated = part.kind is Kind.NOT
    atom = part.args[0] if negated else part
    if atom.kind not in (Kind.LE, Kind.LT, Kind.EQ) or (negated and atom.kind is Kind.EQ):
        return None
    a, b = atom.args
    if not (a.sort is INT or isinstance(a.sort, MachineSort)):
        return None
    strict = atom.kind is Kind.LT
    if negated:  # not a <= b is b < a
        a, b, strict = b, a, not strict
    if a.kind is Kind.VAR and b.kind is Kind.CONST:
        value = int(b.value)
        return a, point(value) if atom.kind is Kind.EQ else Interval(None, value - strict)
    if a.kind is Kind.CONST and b.kind is Kind.VAR:
        value = int(a.value)
        return b, point(value) if atom.kind is Kind.EQ else Interval(value + strict, None)
    return None

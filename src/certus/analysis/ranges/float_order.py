"""The order of floating-point numbers, as integers: the range analysis bounds a float by its *rank*.

Ranks grow with the numbers: ... -1.0 ... -0.0, 0.0 ... 1.0 ... infinity, and neighbours differ by 1. Rank 0
is 0.0 and rank -1 is -0.0, so both zeros have a place of their own. NaN lies beyond the infinities, above or
below by its sign; so a range tells whether a value may be NaN. In `x87`, patterns whose leading bit
contradicts their exponent have the rank of the value that they stand for (`core.floats`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from certus.analysis.ranges.operations import Bounds
from certus.core import build, float_terms, floats
from certus.core.floats import Format
from certus.core.terms import Expr, Kind

SCALE: Final = tuple(10**n for n in (*range(7), 9, 12, 18, 30))  # widening stops here, too
MOST_MARKS: Final = 200


@dataclass(frozen=True, slots=True)
class FloatOrder:
    """The ranks of a format: the *view* that quantities of floating-point variables have."""

    format: Format

    @property
    def width(self) -> int:
        """The number of bits of a pattern."""
        return self.format.width

    @property
    def infinity(self) -> int:
        """The rank of positive infinity."""
        return ((1 << self.format.exponent) - 1) << (self.format.precision - 1)

    @property
    def nan(self) -> int:
        """The rank of the NaN that operations return."""
        return self.rank(self.format.nan)

    @property
    def numbers(self) -> Bounds:
        """The ranks of all numbers, with the infinities."""
        return -self.infinity - 1, self.infinity

    @property
    def limits(self) -> Bounds:
        """The ranks of all patterns."""
        most = (1 << (self.format.exponent + self.format.precision - 1)) - 1
        return -most - 1, most

    def rank(self, bits: int) -> int:
        """Return the rank of a pattern."""
        format = self.format
        size = bits & (format.sign - 1)
        if format.explicit:
            exponent, fraction = size >> format.precision, size & ((1 << (format.precision - 1)) - 1)
            leading = bool(size >> (format.precision - 1) & 1)
            if exponent and not leading:
                return self.nan
            size = max(exponent, int(leading)) << (format.precision - 1) | fraction
        return -size - 1 if bits & format.sign else size

    def pattern(self, rank: int) -> int:
        """Return a pattern with this rank."""
        format = self.format
        size, sign = (rank, 0) if rank >= 0 else (-rank - 1, format.sign)
        if format.explicit:
            exponent = size >> (format.precision - 1)
            fraction = size & ((1 << (format.precision - 1)) - 1)
            size = exponent << format.precision | (exponent != 0) << (format.precision - 1) | fraction
        return sign | size

    def split(self, bounds: Bounds) -> tuple[Bounds | None, bool]:
        """Return the numbers within bounds, if there are some, and whether NaN is."""
        least, most = self.numbers
        low, high = max(bounds[0], least), min(bounds[1], most)
        return (low, high) if low <= high else None, bounds[0] < least or bounds[1] > most

    def marks(self, constants: Iterable[int]) -> list[int]:
        """Return the ranks at which widening stops: those of the program's constants (patterns), both signs
        of them, and some powers of ten."""
        scale = (floats.from_integer(self.format, number) for number in SCALE)
        sizes = {self.rank(bits & ~self.format.sign) for bits in (*scale, 0, *constants)}
        chosen = sorted(size for size in sizes if size <= self.infinity)[:MOST_MARKS]
        largest = self.infinity - 1
        return sorted({*chosen, *(-size - 1 for size in chosen), largest, -largest - 1, *self.numbers})


def below(rank: int) -> int:
    """Return the rank of the greatest number that is less; zeros are equal."""
    return -2 if rank in (0, -1) else rank - 1


def above(rank: int) -> int:
    """Return the rank of the least number that is greater; zeros are equal."""
    return 1 if rank in (0, -1) else rank + 1


def range_formula(x: Expr, order: FloatOrder, bounds: Bounds) -> Expr:
    """Return the formula that the rank of a pattern is within bounds; it is exact, except for NaN of the
    extended format. Ranges of numbers are comparisons of floats; a zero of the wrong sign is excluded by its
    bits. Where NaN is possible, patterns are compared as integers."""
    format, (low, high) = order.format, bounds
    numbers, nan = order.split(bounds)
    if bounds == order.limits or (nan and format.explicit):
        return build.TRUE
    if nan:
        return build.and_(_from(x, order, low), build.not_(_from(x, order, high + 1)))
    assert numbers is not None
    if low == high and not format.explicit:
        return build.eq(x, _constant(order, low))
    ends = ((_constant(order, low), x), (x, _constant(order, high)))
    parts = [float_terms.float_term(Kind.F_LE, format.name, pair) for pair in ends]
    if low == 0:
        parts.append(build.ne(x, _constant(order, -1)))
    if high == -1:
        parts.append(build.ne(x, _constant(order, 0)))
    return build.conjunction(parts)


def _from(x: Expr, order: FloatOrder, rank: int) -> Expr:
    """Return the formula that the rank of a pattern is at least `rank`."""
    least, most = order.limits
    if rank <= least:
        return build.TRUE
    if rank > most:
        return build.FALSE
    if rank < 0:
        return build.le(x, _constant(order, rank))
    return build.and_(build.le(_constant(order, rank), x), build.lt(x, _constant(order, -1)))


def _constant(order: FloatOrder, rank: int) -> Expr:
    return build.constant(order.pattern(rank), float_terms.float_sort(order.format))

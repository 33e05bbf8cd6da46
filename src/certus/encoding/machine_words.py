"""Operations of machine integers on mathematical ones, each with an interval of its value.

A `Loose` value represents a machine integer: it is congruent to it modulo 2**width, and equal to it if its
interval is within the sort. Sums and products of loose values are loose, so a chain of them needs one
reduction at its end instead of one at each step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.intervals import Interval, of_sort, point, quotient, remainder
from certus.core.terms import INT, Expr, Function, Kind, MachineSort

_CORRECTIONS: Final = 2  # how many multiples of the modulus `ite` corrects on each side
_FACTORS: Final = 3  # how many full-width factors a loose value may have
_RUNS: Final = 3  # how many runs of ones a constant mask may have to be encoded exactly


@dataclass(frozen=True, slots=True)
class Loose:
    """An Int term and the interval of its values."""

    term: Expr
    span: Interval


def between(low: int, term: Expr, high: int) -> Expr:
    """Return the formula that a term is between two numbers, inclusive."""
    return build.and_(build.le(build.integer(low), term), build.le(term, build.integer(high)))


def in_range(term: Expr, sort: MachineSort) -> Expr:
    """Return the formula that a term is a value of a machine sort."""
    return between(sort.low, term, sort.high)


def reduce(value: Loose, sort: MachineSort, style: str) -> Loose:
    """Return the value of `sort` that is congruent to `value`."""
    span = of_sort(sort)
    if value.span.within(span):
        return value
    modulus = 1 << sort.width
    steps = _steps(value.span, sort)
    if style == "ite" and steps is not None:
        return Loose(_corrected(value.term, sort, *steps), span)
    shifted = build.sub(value.term, build.integer(sort.low))
    return Loose(build.add(build.mod(shifted, build.integer(modulus)), build.integer(sort.low)), span)


def _steps(span: Interval, sort: MachineSort) -> tuple[int, int] | None:
    """Return how many moduli the interval reaches below and above the sort; None if too many."""
    if span.low is None or span.high is None:
        return None
    modulus = 1 << sort.width
    below = max(0, -((span.low - sort.low) // modulus))
    above = max(0, -((sort.high - span.high) // modulus))
    return (below, above) if max(below, above) <= _CORRECTIONS else None


def _corrected(term: Expr, sort: MachineSort, below: int, above: int) -> Expr:
    modulus, result = 1 << sort.width, term
    for step in range(above):
        limit = build.integer(sort.high + step * modulus)
        moved = build.sub(term, build.integer((step + 1) * modulus))
        result = build.ite(build.lt(limit, term), moved, result)
    for step in range(below):
        limit = build.integer(sort.low - step * modulus)
        moved = build.add(term, build.integer((step + 1) * modulus))
        result = build.ite(build.lt(term, limit), moved, result)
    return result


def combine(
    operation: Callable[[Loose, Loose], Loose], a: Loose, b: Loose, sort: MachineSort, style: str
) -> Loose:
    """Apply `operation` to loose values, or to reduced ones if the result would become too large."""
    result = operation(a, b)
    if style == "ite":
        near = _steps(result.span, sort) is not None
    else:
        size = result.span.magnitude
        near = size is not None and size.bit_length() <= _FACTORS * sort.width
    return result if near else operation(reduce(a, sort, style), reduce(b, sort, style))


def plus(a: Loose, b: Loose) -> Loose:
    """Return the sum of loose values."""
    return Loose(build.add(a.term, b.term), a.span.plus(b.span))


def minus(a: Loose, b: Loose) -> Loose:
    """Return the difference of loose values."""
    return plus(a, Loose(build.scale(-1, b.term), b.span.times(point(-1))))


def times(a: Loose, b: Loose) -> Loose:
    """Return the product of loose values."""
    return Loose(build.mul(a.term, b.term), a.span.times(b.span))


def divide(kind: Kind, a: Loose, b: Loose) -> Loose:
    """Return QUOT or REM of reduced values where the divisor is not zero."""
    natural = all(x.span.low is not None and x.span.low >= 0 for x in (a, b))
    if kind is Kind.QUOT:
        make = build.div if natural else build.quot
        return Loose(make(a.term, b.term), quotient(a.span, b.span))
    make = build.mod if natural else build.rem
    return Loose(make(a.term, b.term), remainder(a.span, b.span))


def shift_right(a: Loose, amount: int) -> Loose:
    """Return the floor of a reduced value divided by a power of two."""
    span = Interval(*(None if end is None else end >> amount for end in (a.span.low, a.span.high)))
    return Loose(build.div(a.term, build.integer(1 << amount)), span)


# ------------------------------------------------------------------------------------- bits


def masked(a: Loose, mask: int) -> Loose | None:
    """Return the bitwise `and` of a reduced value with a constant; None if that has many runs of ones."""
    if mask < 0:  # a & mask = a - (a & ~mask)
        rest = masked(a, ~mask)
        return None if rest is None else minus(a, rest)
    runs = _runs(mask)
    if len(runs) > _RUNS:
        return None
    total = build.integer(0)
    for low, high in runs:  # the bits from low to high - 1
        total = build.add(total, build.sub(_low_bits(a, high), _low_bits(a, low)))
    return Loose(total, Interval(0, mask))


def _low_bits(a: Loose, count: int) -> Expr:
    modulus = 1 << count
    return a.term if a.span.within(Interval(0, modulus - 1)) else build.mod(a.term, build.integer(modulus))


def _runs(mask: int) -> list[tuple[int, int]]:
    """Return the maximal runs of ones in a natural number."""
    runs: list[tuple[int, int]] = []
    position = 0
    while mask:
        zeros = (mask & -mask).bit_length() - 1
        mask >>= zeros
        ones = ((mask + 1) & -(mask + 1)).bit_length() - 1
        mask >>= ones
        runs.append((position + zeros, position + zeros + ones))
        position += zeros + ones
    return runs


def joined(kind: Kind, a: Expr, b: Expr, both: Expr) -> Expr:
    """Return BIT_AND, BIT_OR or BIT_XOR of two integers whose bitwise `and` is `both`."""
    if kind is Kind.BIT_AND:
        return both
    return build.add(a, b, build.scale(-1 if kind is Kind.BIT_OR else -2, both))


def symbol(name: str, sort: MachineSort) -> Function:
    """Return the function symbol for an operation of `sort`."""
    return Function(f"{name}:{sort.name}", (INT, INT), INT)


def and_axioms(a: Expr, b: Expr, both: Expr, sort: MachineSort) -> tuple[Expr, ...]:
    """Return formulas that hold for the bitwise `and` (`both`) of any two values of `sort`."""
    zero = build.integer(0)
    ones = build.integer(-1 if sort.signed else sort.high)
    axioms = [
        in_range(joined(Kind.BIT_OR, a, b, both), sort),
        in_range(joined(Kind.BIT_XOR, a, b, both), sort),
        build.implies(build.eq(a, b), build.eq(both, a)),
    ]
    for one, other in ((a, b), (b, a)):
        smaller = build.and_(build.le(zero, both), build.le(both, one))
        axioms.append(build.implies(build.le(zero, one), smaller))
        axioms.append(build.implies(build.eq(one, ones), build.eq(both, other)))
    if sort.signed:
        negative = build.and_(build.lt(a, zero), build.lt(b, zero))
        axioms.append(build.implies(negative, build.and_(build.le(both, a), build.le(both, b))))
    return tuple(axioms)


def shift_axioms(kind: Kind, a: Expr, b: Expr, shifted: Expr, sort: MachineSort) -> tuple[Expr, ...]:
    """Return formulas that hold for the shift of `a` by `b` whenever `b` is less than the width."""
    zero = build.integer(0)
    defined = build.and_(build.le(zero, b), build.lt(b, build.integer(sort.width)))
    axioms = [
        build.implies(build.eq(b, zero), build.eq(shifted, a)),
        build.implies(build.and_(defined, build.eq(a, zero)), build.eq(shifted, zero)),
    ]
    if kind is Kind.SHR:
        natural = build.implies(build.le(zero, a), build.and_(build.le(zero, shifted), build.le(shifted, a)))
        negative = build.implies(build.lt(a, zero), build.and_(build.le(a, shifted), build.lt(shifted, zero)))
        axioms.append(build.implies(defined, build.and_(natural, negative)))
    return tuple(axioms)

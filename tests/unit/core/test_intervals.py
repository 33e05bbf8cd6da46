"""Interval arithmetic contains every result, and is as tight as it claims."""

from __future__ import annotations

from itertools import product

import pytest

from certus.core.intervals import ANY, Interval, of_operation, point, quotient, remainder
from certus.core.terms import Kind
from certus.core.values import fold_division

BOUNDED = [Interval(low, high) for low in range(-4, 5) for high in range(low, 5)]
PAIRS = list(product(BOUNDED, BOUNDED))


def numbers(interval: Interval) -> range:
    assert interval.low is not None
    assert interval.high is not None
    return range(interval.low, interval.high + 1)


def contains(interval: Interval, number: int) -> bool:
    return point(number).within(interval)


def test_sums_and_products_are_exact_at_their_ends() -> None:
    for a, b in PAIRS:
        sums = [x + y for x, y in product(numbers(a), numbers(b))]
        assert of_operation(Kind.ADD, (a, b)) == Interval(min(sums), max(sums))
        products = [x * y for x, y in product(numbers(a), numbers(b))]
        assert of_operation(Kind.MUL, (a, b)) == Interval(min(products), max(products))


def test_divisions_contain_every_result() -> None:
    for a, b in PAIRS:
        for x, y in product(numbers(a), numbers(b)):
            if y != 0:
                assert contains(quotient(a, b), fold_division(Kind.QUOT, x, y))
                assert contains(remainder(a, b), fold_division(Kind.REM, x, y))
                assert contains(of_operation(Kind.MOD, (a, b)), fold_division(Kind.MOD, x, y))


@pytest.mark.parametrize(
    ("kind", "arguments", "result"),
    [
        (Kind.MUL, (Interval(2, None), point(-3)), Interval(None, -6)),
        (Kind.MUL, (point(0), ANY), point(0)),
        (Kind.MUL, (Interval(1, None), Interval(1, 2)), ANY),
        (Kind.MUL, (point(2), point(3), Interval(None, 1)), Interval(None, 6)),
        (Kind.MOD, (ANY, Interval(1, None)), Interval(0, None)),
        (Kind.MOD, (ANY, point(-4)), Interval(0, 3)),
        (Kind.MOD, (ANY, Interval(0, 4)), ANY),
        (Kind.QUOT, (point(1), point(1)), ANY),
    ],
)
def test_unbounded_arguments(kind: Kind, arguments: tuple[Interval, ...], result: Interval) -> None:
    assert of_operation(kind, arguments) == result

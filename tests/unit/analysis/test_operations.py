"""Operators that are not linear, on all small intervals, against all their values."""

from __future__ import annotations

from itertools import product

import pytest

from certus.analysis.ranges.operations import INFINITE, operate
from certus.core import build
from certus.core.errors import Undefined
from certus.core.terms import INT, Expr, Kind, MachineSort, Sort, machine
from certus.core.values import evaluate

MACHINE = (Kind.MUL, Kind.QUOT, Kind.REM, Kind.SHL, Kind.SHR, Kind.BIT_AND, Kind.BIT_OR, Kind.BIT_XOR)
UNBOUNDED = (Kind.MUL, Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD)
CASES = [
    *((machine(4, signed=True), kind) for kind in MACHINE),
    *((machine(3, signed=False), kind) for kind in MACHINE),
    *((INT, kind) for kind in UNBOUNDED),
]


def domain(sort: Sort) -> range:
    return range(sort.low, sort.high + 1) if isinstance(sort, MachineSort) else range(-5, 6)


def results(kind: Kind, sort: Sort) -> dict[tuple[int, int], int | None]:
    """The value for every pair of arguments, None where any value is possible."""
    results: dict[tuple[int, int], int | None] = {}
    for a, b in product(domain(sort), repeat=2):
        term = Expr(kind, (build.constant(a, sort), build.constant(b, sort)), None, sort)
        try:
            results[(a, b)] = int(evaluate(term, {}))  # type: ignore[arg-type]
        except Undefined:
            results[(a, b)] = None
    return results


@pytest.mark.parametrize(("sort", "kind"), CASES, ids=lambda each: getattr(each, "name", str(each)))
def test_all_results_are_within_the_bounds(sort: Sort, kind: Kind) -> None:
    limits = (sort.low, sort.high) if isinstance(sort, MachineSort) else (-INFINITE, INFINITE)
    width = sort.width if isinstance(sort, MachineSort) else 0
    values = results(kind, sort)
    ends = list(domain(sort))[:: 1 if len(domain(sort)) < 12 else 3]
    pairs = [(a, b) for a in ends for b in ends if a <= b]
    for x, y in product(pairs, repeat=2):
        low, high = operate(kind, [x, y], limits, width)
        for a, b in product(range(x[0], x[1] + 1), range(y[0], y[1] + 1)):
            value = values[(a, b)]
            if value is None:
                assert (low, high) == limits, (x, y)
            else:
                assert low <= value <= high, (x, y, a, b)


def test_squares_are_not_negative() -> None:
    assert operate(Kind.MUL, [(-3, 2)], (-100, 100), 8) == (0, 9)
    assert operate(Kind.MUL, [(2, 3)], (-100, 100), 8) == (4, 9)
    assert operate(Kind.MUL, [(-INFINITE, 2)], (-INFINITE, INFINITE), 0) == (0, INFINITE)


def test_no_bound_is_made_of_infinity() -> None:
    anything = (-INFINITE, INFINITE)
    assert operate(Kind.REM, [anything, (1, INFINITE)], anything, 0) == anything
    assert operate(Kind.MOD, [anything, (1, INFINITE)], anything, 0) == (0, INFINITE)
    assert operate(Kind.QUOT, [anything, (2, 2)], anything, 0) == anything


def test_what_leaves_the_type_may_be_anything() -> None:
    assert operate(Kind.MUL, [(0, 100), (0, 100)], (-128, 127), 8) == (-128, 127)
    assert operate(Kind.BIT_NOT, [(0, 15)], (0, 255), 8) == (240, 255)
    assert operate(Kind.BIT_NOT, [(0, 15)], (-128, 127), 8) == (-16, -1)

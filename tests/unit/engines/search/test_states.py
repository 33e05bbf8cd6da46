"""Sets of states as formulas."""

from __future__ import annotations

from itertools import product

import pytest

from certus.core import build
from certus.core.terms import BOOL, INT, machine
from certus.core.values import evaluate
from certus.core.walk import postorder
from certus.engines.search.states import formula_of

X, Y, B = build.var("x", INT), build.var("y", machine(8, signed=True)), build.var("b", BOOL)
ALL = list(product((-1, 0, 1, 2), (-128, 0, 127), (False, True)))


@pytest.mark.parametrize("rows", [ALL[:1], ALL[3:9], ALL[::5], ALL[::2], ALL])
def test_just_these_values_satisfy_the_formula(rows: list[tuple[int, int, bool]]) -> None:
    formula = formula_of([X, Y, B], rows)
    satisfied = [row for row in ALL if evaluate(formula, dict(zip((X, Y, B), row, strict=True)))]
    assert satisfied == rows


def test_what_never_changes_is_said_once() -> None:
    rows = [(7, n % 3, n % 2 == 0) for n in range(6)]
    formula = formula_of([X, Y, B], rows)
    assert sum(term is build.eq(X, build.integer(7)) for term in postorder(formula)) == 1


def test_equal_rests_are_shared() -> None:
    """All combinations: as many atoms as there are values, not as there are states."""
    numbers = [build.var(f"n{i}", INT) for i in range(8)]
    formula = formula_of(numbers, list(product((0, 1, 2), repeat=8)))
    assert sum(1 for _ in postorder(formula)) < 100

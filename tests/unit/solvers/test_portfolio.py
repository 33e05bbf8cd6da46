"""Several solvers behind one question."""

from __future__ import annotations

from fractions import Fraction

import pytest

from certus.core import build, float_terms, floats
from certus.core.accounting import Budget, Statistics
from certus.core.solver import Answer
from certus.core.terms import Kind, machine
from certus.solvers import portfolio
from certus.solvers.portfolio import Backoff, SolverPortfolio

U32 = machine(32, signed=False)
X, Y = build.var("x", U32), build.var("y", U32)
NONE = 1e-9  # seconds


def test_what_fails_is_tried_less_and_less_often() -> None:
    backoff = Backoff()
    tried = [number for number in range(20) if backoff.is_over() and not backoff.record(False)]
    assert tried == [0, 2, 6, 14]
    backoff.record(True)
    assert backoff.is_over()


def factors(product: int, solver: SolverPortfolio) -> Answer:
    """Return whether a number has two factors below 4,096."""
    limit, one = build.constant(4096, U32), build.constant(1, U32)
    solver.add(build.lt(one, X), build.lt(X, limit), build.lt(one, Y), build.lt(Y, limit))
    claim = build.eq(build.mul(X, Y), build.constant(product, U32))
    return solver.check([claim], budget=Budget(60), purpose="test")


@pytest.mark.parametrize("product", [16_744_463, 16_777_213])
def test_fresh_solvers_answer_with_a_model_or_without(monkeypatch: pytest.MonkeyPatch, product: int) -> None:
    """16,777,213 is a prime."""
    monkeypatch.setattr(portfolio, "PATIENCE", NONE)
    statistics = Statistics()
    solver = SolverPortfolio(statistics)
    answer = factors(product, solver)
    assert statistics.counters["solver.test.fresh"] > 0
    assert answer is (Answer.SAT if product == 16_744_463 else Answer.UNSAT)
    if answer is Answer.SAT:
        assert sorted(solver.values([X, Y])) == [4091, 4093]


def test_turns_may_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("PATIENCE", "INTEGERS", "TURN"):
        monkeypatch.setattr(portfolio, limit, NONE)
    statistics = Statistics()
    solver = SolverPortfolio(statistics)
    solver.turns = 3
    assert factors(16_777_213, solver) is Answer.UNKNOWN
    assert statistics.counters["solver.test.fresh"] == 2
    assert statistics.counters["solver.test.integers"] == 1
    solver.turns = 1
    assert factors(16_777_213, solver) is Answer.UNKNOWN
    assert statistics.counters["solver.test.fresh"] == 3


def test_a_solver_that_keeps_failing_is_tried_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "PATIENCE", NONE)
    statistics = Statistics()
    solver = SolverPortfolio(statistics)
    for _ in range(8):
        assert factors(16_744_463, solver) is Answer.SAT
        assert not solver.was_easy
    assert statistics.counters["solver.test"] == 3  # the first, third and seventh time
    assert statistics.counters["solver.test.fresh"] == 8  # the solver that answered starts the next time


@pytest.mark.parametrize(("square", "expected"), [(2.25, Answer.SAT), (2.0, Answer.UNSAT)])
def test_with_floating_point_the_incremental_solver_continues(
    monkeypatch: pytest.MonkeyPatch, square: float, expected: Answer
) -> None:
    """No float has the square 2. What Bitwuzla has learned until its first turn ends is not lost."""
    monkeypatch.setattr(portfolio, "FLOAT_PATIENCE", NONE)
    x = build.var("x", float_terms.float_sort(floats.F32))
    number = build.constant(floats.from_fraction(floats.F32, floats.NEAREST, Fraction(square)), x.sort)
    product = float_terms.float_term(Kind.F_MUL, "f32", (x, x, float_terms.TO_NEAREST))
    claim = float_terms.float_term(Kind.F_EQ, "f32", (product, number))
    statistics = Statistics()
    solver = SolverPortfolio(statistics, cores=True)
    assert solver.check([claim], budget=Budget(60), purpose="test") is expected
    assert statistics.counters["solver.test.fresh"] > 0
    assert solver.was_easy
    if expected is Answer.SAT:
        root = solver.value(x)
        assert isinstance(root, int)
        assert floats.to_fraction(floats.F32, root) in (Fraction(3, 2), Fraction(-3, 2))
    else:
        assert solver.core() == (claim,)

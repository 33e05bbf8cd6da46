"""Bitwuzla: answers, models, cores, levels, limits, what does not fit, and terms of any depth."""

from __future__ import annotations

import time
from functools import reduce

import pytest

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import BudgetExceeded
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, REAL, Expr, Function, array, machine
from certus.core.values import ArrayValue
from certus.solvers.bitwuzla.solver import BitwuzlaSolver
from certus.solvers.bitwuzla.terms import WIDEST

I8, U8, U64 = machine(8, signed=True), machine(8, signed=False), machine(64, signed=False)
X, Y = build.var("x", I8), build.var("y", I8)
P = build.var("p", BOOL)
MEMORY = build.var("m", array(U8, I8))
ZERO, ONE = build.constant(0, I8), build.constant(1, I8)


@pytest.fixture
def solver() -> BitwuzlaSolver:
    return BitwuzlaSolver(Statistics())


def ask(solver: BitwuzlaSolver, *assumptions: Expr, seconds: float | None = 20) -> Answer:
    return solver.check(assumptions, budget=Budget(seconds), purpose="test")


def test_answers_and_values(solver: BitwuzlaSolver) -> None:
    solver.add(build.lt(X, Y), build.lt(Y, ZERO), build.lt(build.constant(-3, I8), X))
    assert ask(solver) is Answer.SAT
    assert solver.values((X, Y, build.lt(X, Y))) == (-2, -1, True)
    assert solver.value(build.add(build.to_int(X), build.integer(-500))) == -502
    solver.add(build.lt(ONE, X))
    assert ask(solver) is Answer.UNSAT


def test_models_complete_what_is_open(solver: BitwuzlaSolver) -> None:
    number = build.var("n", INT)
    assert ask(solver) is Answer.SAT
    assert solver.values((X, P, number, build.add(number, build.integer(3)))) == (0, False, 0, 3)


def test_queries_are_counted_by_purpose() -> None:
    statistics = Statistics()
    solver = BitwuzlaSolver(statistics)
    for _ in range(3):
        solver.check(budget=Budget(), purpose="reach")
    assert statistics.counters == {"solver.reach": 3}


def test_arrays_are_read_from_models(solver: BitwuzlaSolver) -> None:
    at = [build.constant(n, U8) for n in (0, 200)]
    solver.add(build.eq(build.select(MEMORY, at[0]), ONE), build.eq(build.select(MEMORY, at[1]), X))
    solver.add(build.eq(X, build.constant(-7, I8)))
    assert ask(solver) is Answer.SAT
    memory = solver.value(MEMORY)
    assert isinstance(memory, ArrayValue)
    assert (memory[0], memory[200]) == (1, -7)


def test_constant_arrays(solver: BitwuzlaSolver) -> None:
    """They hold what they hold wherever anybody looks, also behind equations and after `pop`."""
    sevens = build.const_array(U8, build.constant(7, I8))
    at = build.var("i", U8)
    solver.add(build.eq(MEMORY, build.store(sevens, at, ONE)))
    assert not solver.exact
    for _ in range(2):
        solver.push()
        other = build.var("j", U8)
        solver.add(build.eq(build.select(MEMORY, other), ZERO))
        assert ask(solver) is Answer.UNSAT
        solver.pop()
        assert ask(solver) is Answer.SAT
    assert solver.value(build.select(sevens, build.constant(9, U8))) == 7


def test_a_core_is_a_subset_of_the_assumptions_in_their_order() -> None:
    solver = BitwuzlaSolver(Statistics(), cores=True)
    solver.add(build.or_(P, build.lt(X, ZERO)))
    low, high, other = build.lt(ONE, X), build.not_(P), build.lt(Y, X)
    assert ask(solver, other, low, high) is Answer.UNSAT
    assert solver.core() == (low, high)
    assert ask(solver, other, high) is Answer.SAT
    with pytest.raises(ValueError, match="no core"):
        solver.core()
    solver.add(P)
    with pytest.raises(ValueError, match="no model"):
        solver.value(X)


def test_a_core_has_to_be_asked_for(solver: BitwuzlaSolver) -> None:
    solver.add(P)
    assert ask(solver, build.not_(P)) is Answer.UNSAT
    with pytest.raises(ValueError, match="cores=True"):
        solver.core()


def test_levels(solver: BitwuzlaSolver) -> None:
    solver.add(build.lt(ZERO, X))
    solver.push()
    solver.add(build.lt(X, ONE))
    assert ask(solver) is Answer.UNSAT
    solver.pop()
    assert ask(solver) is Answer.SAT
    assert solver.formulas == (build.lt(ZERO, X),)
    with pytest.raises(ValueError, match="pop without push"):
        solver.pop()


def test_same_name_other_sort_is_another_variable(solver: BitwuzlaSolver) -> None:
    nullary = build.apply(Function("x", (), I8), ())
    solver.add(build.eq(X, ONE), build.eq(build.var("x", U8), build.constant(2, U8)))
    solver.add(build.eq(nullary, build.constant(3, I8)))
    assert ask(solver) is Answer.SAT
    assert solver.values((X, build.var("x", U8), nullary)) == (1, 2, 3)


wide = build.to_int(build.var("w", U64))


@pytest.mark.parametrize(
    "formula",
    [
        build.lt(build.var("n", INT), build.integer(3)),
        build.lt(build.var("r", REAL), build.real(3)),
        build.exists((I8,), build.lt(build.bound(0, I8), X)),
        build.eq(build.var("a", array(U8, array(U8, I8))), build.var("b", array(U8, array(U8, I8)))),
        build.eq(build.quot(wide, build.to_int(X)), build.integer(3)),
        build.lt(build.integer(1 << WIDEST), wide),
        build.lt(wide, reduce(build.mul, [wide] * 9)),
        build.apply(Function("f", (array(U8, I8),), BOOL), (MEMORY,)),
    ],
    ids=["integer", "real", "quantifier", "nested", "division", "constant", "product", "function"],
)
def test_what_does_not_fit_has_no_answer_until_it_is_popped(solver: BitwuzlaSolver, formula: Expr) -> None:
    assert ask(solver, formula) is Answer.UNKNOWN
    solver.push()
    solver.add(formula)
    assert not solver.fits
    assert ask(solver) is Answer.UNKNOWN
    assert not solver.was_ended
    solver.pop()
    assert solver.fits
    assert ask(solver) is Answer.SAT


def product() -> Expr:
    """Unsatisfiable, and too hard to find out: a prime of 64 bits has no factors."""
    u128 = machine(128, signed=False)
    x, y = (build.wrap(build.var(name, U64), u128) for name in "xy")
    prime = build.constant(18_446_744_073_709_551_557, u128)
    one = build.constant(1, u128)
    return build.and_(build.eq(build.mul(x, y), prime), build.lt(one, x), build.lt(one, y))


def test_a_hard_problem_ends_near_its_limit(solver: BitwuzlaSolver) -> None:
    solver.add(product())
    start = time.monotonic()
    assert ask(solver, seconds=0.3) is Answer.UNKNOWN
    assert solver.was_ended
    assert solver.check(budget=Budget(60), purpose="test", seconds=0.3) is Answer.UNKNOWN
    assert time.monotonic() - start < 15


def test_an_exhausted_budget_is_an_exception(solver: BitwuzlaSolver) -> None:
    spent = Budget(0)
    time.sleep(0.001)
    with pytest.raises(BudgetExceeded):
        solver.check(budget=spent, purpose="test")


@pytest.mark.no_cover
def test_three_thousand_deep(solver: BitwuzlaSolver) -> None:
    flag, number = P, X
    memory = build.var("a", array(I8, I8))
    for step in range(3_000):
        choice = build.var(f"p{step}", BOOL)
        flag = build.not_(build.and_(flag, choice))
        number = build.ite(choice, build.select(memory, number), build.add(number, ONE))
        memory = build.store(memory, number, ONE)
    solver.add(flag, build.lt(ZERO, number))
    assert ask(solver, seconds=60) is not Answer.UNSAT

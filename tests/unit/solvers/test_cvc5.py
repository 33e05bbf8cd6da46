"""cvc5: answers to texts of ours, limits, and complaints that are never lost."""

from __future__ import annotations

import time

import pytest

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import BudgetExceeded, Inconsistent
from certus.core.solver import Answer
from certus.core.terms import INT, Expr, array, machine
from certus.solvers.cvc5 import Cvc5Solver

X, Y, Z = (build.var(name, INT) for name in "xyz")
ONE = build.integer(1)


def ask(*formulas: Expr, seconds: float = 20) -> Answer:
    return Cvc5Solver(Statistics()).check_formulas(formulas, budget=Budget(seconds), purpose="test")


def test_answers() -> None:
    byte = build.var("m", machine(8, signed=True))
    lowest = build.eq(byte, build.constant(-128, byte.sort))
    assert ask(build.lt(X, Y)) is Answer.SAT
    assert ask(build.lt(X, Y), build.lt(Y, X)) is Answer.UNSAT
    assert ask(lowest, build.ne(build.neg(byte), byte)) is Answer.UNSAT
    assert ask() is Answer.SAT


def test_queries_have_counters_of_their_own() -> None:
    statistics = Statistics()
    Cvc5Solver(statistics).check_formulas((build.lt(X, Y),), budget=Budget(), purpose="proof")
    assert statistics.counters == {"solver.cvc5.proof": 1}
    assert statistics.seconds["solver.cvc5.proof"] > 0


def test_a_hard_problem_ends_near_its_limit() -> None:
    cubes = [build.mul(v, build.mul(v, v)) for v in (X, Y, Z)]
    start = time.monotonic()
    hard = build.eq(build.add(cubes[0], cubes[1]), cubes[2])
    assert ask(hard, build.lt(ONE, X), build.lt(ONE, Y), seconds=0.3) is Answer.UNKNOWN
    assert time.monotonic() - start < 20


def test_an_exhausted_budget_is_an_exception() -> None:
    spent = Budget(0)
    time.sleep(0.001)
    with pytest.raises(BudgetExceeded):
        Cvc5Solver(Statistics()).check_formulas((), budget=spent, purpose="test")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("(set-logic ALL)(assert (> y 3))(check-sat)", "'y' not declared"),
        ("(set-logic ALL)(assert", "Expected"),
        ("(set-logic ALL)(assert (= 1 true))(check-sat)", "same type"),
        ("(set-logic ALL)(set-option :nonsense 1)(check-sat)", "nonsense"),
        ("(set-logic ALL)", "check-sat"),
    ],
)
def test_a_text_cvc5_cannot_read_is_our_defect(text: str, complaint: str) -> None:
    with pytest.raises(Inconsistent, match=complaint):
        Cvc5Solver(Statistics()).check_text(text, budget=Budget(10))


def test_what_cvc5_does_not_support_is_unknown_and_counted() -> None:
    statistics = Statistics()
    zeros, ones = (build.const_array(INT, build.integer(n)) for n in (0, 1))
    formula = build.eq(zeros, build.store(ones, build.integer(0), X))
    answer = Cvc5Solver(statistics).check_formulas((formula,), budget=Budget(10), purpose="test")
    assert answer is Answer.UNKNOWN
    assert statistics.counters["solver.cvc5.refused"] == 1


def test_constant_arrays_are_treated() -> None:
    zeros = build.const_array(INT, build.integer(0))
    memory = build.var("a", array(INT, INT))
    assert ask(build.eq(memory, zeros), build.eq(build.select(memory, X), ONE)) is Answer.UNSAT


@pytest.mark.no_cover
def test_deep_terms() -> None:
    term = X
    for step in range(1000):
        term = build.ite(build.lt(term, build.integer(step)), build.add(term, ONE), term)
    assert ask(build.lt(term, X), seconds=5) is not Answer.SAT

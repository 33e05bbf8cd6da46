"""Evidence about Horn clauses: right evidence passes, every kind of wrong evidence is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from certus.check.proofs.horn import check_derivation, check_model
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.horn import Derivation, HornSystem, Model, Step
from certus.core.outcome import DerivationCheck, ProofCheck
from certus.core.terms import INT, Expr
from certus.frontend.chc.load import load_chc
from certus.frontend.source import Source

COUNT = """(declare-fun P (Int) Bool)
(assert (P 0))
(assert (forall ((x Int)) (=> (and (P x) (< x 3)) (P (+ x 1)))))
(assert (forall ((x Int)) (=> (and (P x) (= x {})) false)))"""
X = build.var("x", INT)


def system(last: int) -> HornSystem:
    return load_chc(Source(f"{COUNT.format(last)}\n(check-sat)", "test.smt2"), Budget(60))


def model_of(formula: Expr, last: int = 4) -> ProofCheck | Diagnostic:
    clauses = system(last)
    model = Model({clauses.relations[0]: ((X,), formula)})
    return check_model(clauses, model, budget=Budget(60), statistics=Statistics())


def test_a_model_is_checked_by_both_solvers() -> None:
    check = model_of(build.le(X, build.integer(3)))
    assert check == ProofCheck(2, {"z3": 2, "cvc5": 2}, 0)  # the first clause is plainly true


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        (build.le(X, build.integer(4)), "proof-refuted"),  # does not exclude the query
        (build.le(X, build.integer(2)), "proof-refuted"),  # is not inductive
        (build.lt(build.integer(0), X), "proof-refuted"),  # does not hold of 0
        (build.le(build.var("y", INT), build.integer(3)), "proof-malformed"),  # over another variable
    ],
)
def test_what_is_no_model_is_refused(formula: Expr, code: str) -> None:
    check = model_of(formula)
    assert isinstance(check, Diagnostic)
    assert check.code == code


def test_a_model_speaks_of_all_relations() -> None:
    check = check_model(system(4), Model({}), budget=Budget(60), statistics=Statistics())
    assert isinstance(check, Diagnostic)
    assert "does not define the relation P" in check.message


STEPS = (
    Step(0, (), ()),
    Step(1, (0,), (0,)),
    Step(1, (1,), (1,)),
    Step(2, (2,), (2,)),
)


def test_a_derivation_is_computed_again() -> None:
    assert check_derivation(system(2), Derivation(STEPS), budget=Budget(60)) == DerivationCheck(4)


@pytest.mark.parametrize(
    ("number", "wrong", "part"),
    [
        (2, Step(1, (0,), (1,)), "does not conclude what P needs"),
        (3, Step(2, (1,), (1,)), "is false"),
        (3, Step(1, (2,), (2,)), "does not conclude false"),
        (1, Step(1, (0,), (2,)), "a step that does not exist"),
        (1, Step(9, (0,), (0,)), "a clause or a step"),
        (1, Step(1, (), (0,)), "does not fit its clause"),
        (1, Step(1, (True,), (0,)), "cannot be computed"),
    ],
)
def test_what_is_no_derivation_is_refused(number: int, wrong: Step, part: str) -> None:
    steps = (*STEPS[:number], wrong, *STEPS[number + 1 :])
    check = check_derivation(system(2), Derivation(steps), budget=Budget(60))
    assert isinstance(check, Diagnostic)
    assert part in check.message


def test_an_empty_derivation_is_none() -> None:
    check = check_derivation(system(2), Derivation(()), budget=Budget(60))
    assert isinstance(check, Diagnostic)
    assert "its last step does not conclude false" in check.message


def test_a_division_by_zero_derives_nothing() -> None:
    text = "(assert (forall ((x Int) (y Int)) (=> (= (div x y) 7) false)))"
    clauses = load_chc(Source(f"{text}\n(check-sat)", "test.smt2"), Budget(60))
    step = Step(0, (7, 0), ())
    check = check_derivation(clauses, Derivation((step,)), budget=Budget(60))
    assert isinstance(check, Diagnostic)
    assert "division by zero" in check.message
    right = Derivation((replace(step, values=(7, 1)),))
    assert check_derivation(clauses, right, budget=Budget(60)) == DerivationCheck(1)

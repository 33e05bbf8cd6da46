"""Simplified clauses: what each step leaves, and that evidence comes back through all of them."""

from __future__ import annotations

import pytest

from certus.check.proofs.horn import check_derivation, check_model
from certus.core.accounting import Budget, Statistics
from certus.core.c_text import c_text
from certus.core.evidence import Safe, Unsafe
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.intervals import Interval
from certus.core.outcome import DerivationCheck, ProofCheck
from certus.core.terms import Kind
from certus.core.walk import postorder
from certus.engines.spacer import Options, solve_clauses
from certus.frontend.chc.load import load_chc
from certus.frontend.source import Source
from certus.passes.horn.intervals import argument_intervals
from certus.passes.horn.preprocess import Preprocessed, preprocess

CHAIN = """(declare-fun A (Int Int) Bool) (declare-fun B (Int Int Int) Bool) (declare-fun C (Int) Bool)
(declare-fun Dead (Int) Bool) (declare-fun Other (Int) Bool)
(assert (forall ((x Int) (y Int)) (=> (and (= x 3) (= y (+ x 1))) (A x y))))
(assert (forall ((x Int) (y Int) (z Int)) (=> (A x y) (B x y z))))
(assert (forall ((x Int) (y Int) (z Int)) (=> (and (B x y z) (> y 2)) (C (+ x y)))))
(assert (forall ((x Int)) (=> (and (C x) (< x 40)) (C (+ x 2)))))
(assert (forall ((x Int)) (=> (Dead x) (C x))))
(assert (forall ((x Int)) (=> (C x) (Other x))))
(assert (forall ((x Int)) (=> (and (C x) (= x {})) false)))"""


def load(text: str) -> HornSystem:
    return load_chc(Source(f"{text}\n(check-sat)", "test.smt2"), Budget(60))


def prepared(system: HornSystem, *, control: bool = False) -> Preprocessed:
    return preprocess(system, control=control, budget=Budget(60), statistics=Statistics())


def test_what_is_left_of_a_chain() -> None:
    done = prepared(load(CHAIN.format(8)))
    assert [r.name for r in done.system.relations] == ["C"]
    assert {s.name for s in done.stages} == {"values", "reachable", "arguments", "inline", "facts"}
    first = next(c for c in done.system.clauses if not c.body)
    assert first.head is not None
    assert c_text(first.head) == "C(7)"


def comes_back(system: HornSystem, done: Preprocessed, *, holds: bool) -> None:
    """Solve what is left, and check the evidence on the clauses as they were."""
    verdict = done.verdict(solve_clauses(done.system, Options(), Budget(60), Statistics()))
    if holds:
        assert isinstance(verdict, Safe)
        assert isinstance(verdict.proof, Model)
        assert set(verdict.proof.relations) == set(system.relations)
        check = check_model(system, verdict.proof, budget=Budget(60), statistics=Statistics())
        assert isinstance(check, ProofCheck), check
    else:
        assert isinstance(verdict, Unsafe)
        assert isinstance(verdict.refutation, Derivation)
        check = check_derivation(system, verdict.refutation, budget=Budget(60))
        assert isinstance(check, DerivationCheck), check


@pytest.mark.parametrize(("last", "holds"), [(8, True), (13, False), (42, True), (41, False)])
def test_evidence_comes_back(last: int, holds: bool) -> None:
    system = load(CHAIN.format(last))
    comes_back(system, prepared(system), holds=holds)


INTERVALS = """(declare-fun P (Bool Int Int Int) Bool)
(assert (P true 0 7 0))
(assert (forall ((b Bool) (x Int) (c Int) (s Int)) (=> (and (P b x c s) (< x 10) (or (> x 20) b (= s 3)))
  (P b (+ x 1) (ite (> c 0) c s) (+ s 1)))))
(assert (forall ((b Bool) (x Int) (c Int) (s Int)) (=> (and (P b x c s) {}) false)))"""


@pytest.mark.parametrize(
    ("query", "holds"),
    [("(or (> x 10) (not (= c 7)))", True), ("(not (= x s))", True), ("(= c 7) (= x 4) (> s 3)", False)],
)
def test_intervals_of_arguments(query: str, holds: bool) -> None:
    """Impossible cases of disjunctions are removed; bounds are added and restrict the model."""
    system = load(INTERVALS.format(query))
    done = prepared(system)
    assert "facts" in {s.name for s in done.stages}
    assert not any(t.kind is Kind.OR for c in done.system.clauses if c.head for t in postorder(c.constraint))
    comes_back(system, done, holds=holds)


def test_arguments_may_go_in_several_rounds() -> None:
    """Nothing looks at `d` once B is inlined, and then nothing looks at `c`."""
    system = load(
        """(declare-fun P (Int Int Int) Bool) (declare-fun B (Int Int) Bool)
        (assert (forall ((d Int)) (P 0 2 d)))
        (assert (forall ((a Int) (c Int) (d Int)) (=> (P a c d) (P (+ a 1) (+ c d) (+ d c)))))
        (assert (forall ((a Int) (c Int) (d Int)) (=> (P a c d) (B a (ite (= c d) a a)))))
        (assert (forall ((a Int) (c Int)) (=> (and (B a c) (< (+ a c) 0)) false)))"""
    )
    done = prepared(system)
    assert "arguments" in {s.name for s in done.stages}
    comes_back(system, done, holds=True)


def test_an_interval_may_hold_because_of_others() -> None:
    """`b` is always true since x never gets to 5, which a model has to say."""
    system = load(
        """(declare-fun P (Int Bool) Bool)
        (assert (P 0 true))
        (assert (forall ((x Int) (b Bool)) (=> (P x b) (P (- x 1) (not (= x 6))))))
        (assert (forall ((x Int)) (=> (P x false) false)))"""
    )
    done = prepared(system)
    assert done.system.clauses == ()
    comes_back(system, done, holds=True)


def test_intervals_widen_and_come_back() -> None:
    """Counting to a million does not take a million iterations, and the loop's bound is recovered."""
    system = load(
        """(declare-fun P (Int Int) Bool)
        (assert (P 0 5))
        (assert (forall ((x Int) (y Int)) (=> (and (P x y) (< x 1000000)) (P (+ x 3) (- y 1)))))"""
    )
    (relation,) = system.relations
    intervals = argument_intervals(system, Budget(60))
    assert intervals == {relation: (Interval(0, 1_000_002), Interval(None, 5))}


def test_an_inlined_relation_gets_a_formula_by_interpolation() -> None:
    """A clause with a variable that is no parameter: what it says needs a quantifier, or an interpolant."""
    system = load(
        """(declare-fun A (Int Int) Bool) (declare-fun L (Int Int) Bool)
        (assert (forall ((x Int) (w Int) (y Int)) (=> (and (> y 3) (>= (+ x w) (* 2 y))) (A x w))))
        (assert (forall ((x Int) (w Int)) (=> (A x w) (L x w))))
        (assert (forall ((x Int) (w Int)) (=> (L x w) (L (+ x 1) w))))
        (assert (forall ((x Int) (w Int)) (=> (and (L x w) (< (+ x w) 8)) false)))"""
    )
    done = prepared(system)
    assert [r.name for r in done.system.relations] == ["L"]
    comes_back(system, done, holds=True)


def test_everything_may_go() -> None:
    done = prepared(load("(declare-fun P (Int) Bool)(assert (forall ((x Int)) (=> (P x) false)))"))
    assert done.system.clauses == ()
    verdict = done.verdict(Safe(Model({})))
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Model)
    assert [c_text(f) for _, f in verdict.proof.relations.values()] == ["false"]


def test_irrelevant_arguments_are_removed() -> None:
    system = load(
        """(declare-fun P (Int Int Int) Bool)
        (assert (forall ((z Int)) (P 0 z 5)))
        (assert (forall ((x Int) (y Int) (z Int)) (=> (and (P x y z) (< x 4)) (P (+ x 1) (+ y z) y))))
        (assert (forall ((x Int) (y Int) (z Int)) (=> (and (P x y z) (= x 3)) false)))"""
    )
    done = prepared(system)
    assert [len(r.parameters) for r in done.system.relations] == [1]
    verdict = done.verdict(solve_clauses(done.system, Options(), Budget(60), Statistics()))
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Derivation)
    assert check_derivation(system, verdict.refutation, budget=Budget(60)) == DerivationCheck(5)

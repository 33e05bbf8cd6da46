"""Spacer's answers as evidence of ours: models and derivations that check."""

from __future__ import annotations

import pytest

from certus.check.proofs.horn import check_derivation, check_model
from certus.core.accounting import Budget, Statistics
from certus.core.evidence import Safe, Unsafe
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.outcome import DerivationCheck, ProofCheck
from certus.engines.spacer import Options, solve_clauses
from certus.frontend.chc.load import load_chc
from certus.frontend.source import Source

COUNTER = """(declare-fun P (Int Int) Bool)
(assert (P 0 0))
(assert (forall ((x Int) (y Int)) (=> (and (P x y) (< x 10)) (P (+ x 1) (+ y 2)))))
(assert (forall ((x Int) (y Int)) (=> (and (P x y) (>= x 10) (not (= y {}))) false)))"""

FIBONACCI = """(declare-fun F (Int Int) Bool)
(assert (forall ((n Int)) (=> (<= n 1) (F n 1))))
(assert (forall ((n Int) (a Int) (b Int)) (=> (and (> n 1) (F (- n 1) a) (F (- n 2) b)) (F n (+ a b)))))
(assert (forall ((n Int) (a Int)) (=> (and (F n a) (= n 5) (= a 8)) false)))"""

ARRAYS = """(declare-fun A ((Array Int Int) Int) Bool)
(assert (forall ((a (Array Int Int))) (=> (= a ((as const (Array Int Int)) 0)) (A a 0))))
(assert (forall ((a (Array Int Int)) (i Int)) (=> (and (A a i) (< i 2)) (A (store a i 7) (+ i 1)))))
(assert (forall ((a (Array Int Int)) (i Int)) (=> (and (A a i) (= i 2) (= (select a 1) {})) false)))"""

BITS = """(declare-fun P ((_ BitVec 8)) Bool)
(assert (P #x01))
(assert (forall ((x (_ BitVec 8))) (=> (P x) (P (bvmul x #x03)))))
(assert (forall ((x (_ BitVec 8))) (=> (and (P x) (= x {})) false)))"""


def load(text: str) -> HornSystem:
    return load_chc(Source(f"{text}\n(check-sat)", "test.smt2"), Budget(60))


@pytest.mark.parametrize(
    "text", [COUNTER.format(20), BITS.format("#x02"), "(declare-fun P () Bool)(assert P)"]
)
def test_models(text: str) -> None:
    system = load(text)
    verdict = solve_clauses(system, Options(), Budget(60), Statistics())
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Model)
    check = check_model(system, verdict.proof, budget=Budget(60), statistics=Statistics())
    assert isinstance(check, ProofCheck)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (COUNTER.format(21), 12),
        (FIBONACCI, 7),
        (ARRAYS.format(7), 4),
        (BITS.format("#x1b"), 5),
        ("(declare-fun P () Bool)(assert P)(assert (not P))", 2),
        ("(assert false)", 1),
    ],
)
def test_derivations(text: str, steps: int) -> None:
    system = load(text)
    verdict = solve_clauses(system, Options(), Budget(60), Statistics())
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Derivation)
    assert check_derivation(system, verdict.refutation, budget=Budget(60)) == DerivationCheck(steps)

"""Relations split by control arguments: which are split, and that evidence comes back."""

from __future__ import annotations

import pytest
from tests.unit.passes.horn.test_preprocess import comes_back, load, prepared

# Rounds 0, 1, 2 and then nothing more; `b` is arbitrary and stays as it is.
ROUNDS = """(declare-fun S (Real Bool Int) Bool)
(assert (forall ((r Real) (b Bool) (x Int)) (=> (and (= r 0.0) (= x 1)) (S r b x))))
(assert (forall ((r Real) (b Bool) (x Int) (s Real) (y Int)) (=> (and (S r b x)
  (or (and (= r 0.0) (= s 1.0) (= y (ite b (* 2 x) (+ x 5))))
      (and (= r 1.0) (= s 2.0) (= y (+ x 1)))
      (and (= r 2.0) (= s r) (= y x)))) (S s b y))))
(assert (forall ((r Real) (b Bool) (x Int)) (=> (and (S r b x) (= r 2.0) {}) false)))"""

# Two Boolean variables encode the locations of a program with a loop.
LOCATIONS = """(declare-fun S (Bool Bool Int) Bool)
(assert (forall ((x Int)) (=> (= x 0) (S false false x))))
(assert (forall ((x Int) (a Bool) (b Bool) (c Bool) (d Bool) (y Int)) (=> (and (S a b x)
  (or (and (not a) (not b) (not c) d (= y x))
      (and (not a) b (< x 60) (not c) d (= y (+ x 1)))
      (and (not a) b (>= x 60) c d (= y x)))) (S c d y))))
(assert (forall ((x Int)) (=> (and (S true true x) {}) false)))"""


@pytest.mark.parametrize(
    ("query", "holds"), [("(> x 7)", True), ("(< x 3)", True), ("(= x 3)", False), ("(not b) (= x 7)", False)]
)
def test_rounds_become_a_system_without_loops(query: str, holds: bool) -> None:
    system = load(ROUNDS.format(query))
    done = prepared(system, control=True)
    assert "control" in {s.name for s in done.stages}
    assert not done.system.relations
    comes_back(system, done, holds=holds)


@pytest.mark.parametrize(("query", "holds"), [("(not (= x 60))", True), ("(> x 59)", False)])
def test_boolean_arguments_are_locations(query: str, holds: bool) -> None:
    """At most the loop is left: its location has a relation, and the control arguments are gone."""
    system = load(LOCATIONS.format(query))
    done = prepared(system, control=True)
    assert "control" in {s.name for s in done.stages}
    assert [len(r.parameters) for r in done.system.relations] in ([], [1])
    comes_back(system, done, holds=holds)


def test_an_argument_with_many_values_is_not_control() -> None:
    """`x` is compared with constants before and after a step, but has more values than states allowed."""
    system = load(
        """(declare-fun P (Int Int) Bool)
(assert (forall ((x Int) (y Int)) (=> (= x 0) (P x y))))
(assert (forall ((x Int) (y Int) (z Int)) (=>
  (and (P x y) (= z (ite (= x 500) 0 (+ x 1))) (or (= z 7) (< y z)))
  (P z y))))
(assert (forall ((x Int) (y Int)) (=> (and (P x y) (= x 501)) false)))"""
    )
    assert "control" not in {s.name for s in prepared(system, control=True).stages}


def test_clauses_of_a_program_are_not_split() -> None:
    done = prepared(load(ROUNDS.format("(> x 7)")), control=False)
    assert [r.name for r in done.system.relations] == ["S"]

"""Unit propagation: what literals imply stands alone, and nothing else changes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from certus.core import build
from certus.core.terms import BOOL, INT, Expr
from certus.core.values import evaluate
from certus.solvers.unit_propagation import propagated

a, b, c = (build.var(name, BOOL) for name in "abc")
x = build.var("x", INT)
SMALL = build.le(x, build.integer(3))
LARGE = build.le(build.integer(9), x)


def test_a_chain_of_implications_ends_in_a_fact() -> None:
    formulas = (build.implies(a, b), build.implies(b, c), build.implies(c, SMALL), a)
    assert set(propagated(formulas)) == {a, b, c, SMALL}


def test_a_satisfied_clause_goes_and_a_false_part_too() -> None:
    formulas = (build.or_(a, SMALL), build.or_(build.not_(a), b, LARGE), build.or_(build.not_(a), c), a)
    assert set(propagated(formulas)) == {a, c, build.or_(b, LARGE)}


def test_contradictory_literals_stay_contradictory() -> None:
    assert {a, build.not_(a)} <= set(propagated((a, build.not_(a))))
    assert build.FALSE in propagated((a, build.not_(b), build.or_(build.not_(a), b)))


PARTS = st.sampled_from([a, b, c, build.not_(a), build.not_(b), build.not_(c), SMALL, LARGE])
CLAUSES = st.lists(st.lists(PARTS, min_size=1, max_size=3), max_size=7)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(CLAUSES, st.tuples(st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0, 5, 9])))
def test_the_models_are_the_same(clauses: list[list[Expr]], point: tuple[bool, bool, bool, int]) -> None:
    formulas = [build.disjunction(clause) for clause in clauses]
    state = dict(zip((a, b, c, x), point, strict=True))
    before = all(evaluate(f, state) for f in formulas)
    assert all(evaluate(f, state) for f in propagated(formulas)) is before

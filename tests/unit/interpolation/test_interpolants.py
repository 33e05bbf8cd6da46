"""Interpolants along paths, the check they must pass, and canonical predicates."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model
from certus.core.terms import BOOL, INT, REAL, Expr, Function, Kind, array, machine
from certus.core.values import evaluate
from certus.core.walk import variables
from certus.encoding.canonical_atoms import canonical, predicates
from certus.interpolation.equations import with_equations
from certus.interpolation.interpolants import (
    Favoured,
    are_interpolants,
    interpolants,
    invariants,
    invariants_or_facts,
    path_system,
)
from certus.interpolation.weakest_preconditions import preconditions

X, Y, Z = (build.var(name, INT) for name in "xyz")
ZERO, ONE, TWO = (build.integer(n) for n in range(3))
FIRST, SECOND = (Function(name, (INT, INT), BOOL) for name in ("first", "second"))


def clause(body: list[Expr], constraint: Expr, head: Expr | None) -> Clause:
    terms = (*body, constraint, *([] if head is None else [head]))
    return Clause(variables(*terms), tuple(body), constraint, head)


def chain(*, claim: Expr) -> HornSystem:
    """x = y = 0; x, y = x + 1, y + 2; claim"""
    return path_system(
        (
            clause([], build.and_(build.eq(X, build.integer(0)), build.eq(Y, X)), build.apply(FIRST, (X, Y))),
            clause(
                [build.apply(FIRST, (X, Y))],
                build.TRUE,
                build.apply(SECOND, (build.add(X, ONE), build.add(Y, TWO))),
            ),
            clause([build.apply(SECOND, (X, Y))], build.not_(claim), None),
        )
    )


def solve(system: HornSystem) -> Model | None:
    result = interpolants(system, budget=Budget(30), statistics=Statistics())
    return None if result is None else Model(result)


def holds(system: HornSystem, model: Model) -> bool:
    return are_interpolants(system, model, budget=Budget(30), statistics=Statistics())


def test_an_infeasible_path_has_interpolants() -> None:
    system = chain(claim=build.eq(Y, build.mul(TWO, X)))
    model = solve(system)
    assert model is not None
    assert holds(system, model)
    for parameters, formula in model.relations.values():
        assert set(variables(formula)) <= set(parameters)


def test_a_feasible_path_has_none() -> None:
    assert solve(chain(claim=build.eq(X, Y))) is None


def test_a_call_is_a_step_with_two_premises() -> None:
    before, summary = Function("before", (INT,), BOOL), Function("summary", (INT, INT), BOOL)
    system = path_system(
        (
            clause([], build.le(ONE, X), build.apply(before, (X,))),
            clause([], build.TRUE, build.apply(summary, (X, build.add(X, ONE)))),
            clause(
                [build.apply(before, (X,)), build.apply(summary, (X, Y))],
                build.le(Y, ONE),
                None,
            ),
        )
    )
    model = solve(system)
    assert model is not None
    assert holds(system, model)


@pytest.mark.parametrize(("favoured", "related"), [("equations", True), ("values", False)])
def test_what_is_favoured_decides_on_the_form(favoured: Favoured, related: bool) -> None:
    """After x = y = 0 the path to x == 0, y == 1 is impossible because x == y, or since y == 0."""
    system = path_system(
        (
            clause([], build.and_(build.eq(X, ZERO), build.eq(Y, ZERO)), build.apply(FIRST, (X, Y))),
            clause([build.apply(FIRST, (X, Y))], build.TRUE, build.apply(SECOND, (X, Y))),
            clause([build.apply(SECOND, (X, Y))], build.and_(build.eq(X, ZERO), build.eq(Y, ONE)), None),
        )
    )
    result = interpolants(system, favoured=favoured, budget=Budget(30), statistics=Statistics())
    assert result is not None
    assert holds(system, Model(result))
    together = [len(variables(p)) > 1 for _, formula in result.values() for p in predicates(formula)]
    assert any(together) is related


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (build.FALSE, build.FALSE),  # not implied by the prefix
        (build.TRUE, build.TRUE),  # not inconsistent with the suffix
        (build.le(X, build.integer(0)), build.eq(Y, TWO)),  # no step leads from one to the other
    ],
)
def test_the_check_refuses_what_is_no_interpolant(first: Expr, second: Expr) -> None:
    system = chain(claim=build.eq(Y, build.mul(TWO, X)))
    assert not holds(system, Model({FIRST: ((X, Y), first), SECOND: ((X, Y), second)}))


def test_the_check_refuses_symbols_out_of_scope() -> None:
    system = chain(claim=build.eq(Y, build.mul(TWO, X)))
    right = build.eq(Y, build.mul(TWO, X))
    assert holds(system, Model({FIRST: ((X, Y), right), SECOND: ((X, Y), right)}))
    leaking = build.or_(right, build.ne(Z, Z), build.and_(right, build.le(Z, ONE)))
    assert not holds(system, Model({FIRST: ((X, Y), right), SECOND: ((X, Y), leaking)}))


@pytest.mark.parametrize("signed", [False, True])
def test_machine_integers_are_read_back(signed: bool) -> None:
    sort = machine(8, signed=signed)
    a, b = build.var("a", sort), build.var("b", sort)
    relation = Function("state", (sort, sort), BOOL)
    system = path_system(
        (
            clause([], build.lt(a, b), build.apply(relation, (a, b))),
            clause([build.apply(relation, (a, b))], build.lt(b, a), None),
        )
    )
    model = solve(system)
    assert model is not None
    assert holds(system, model)


def test_reals_are_read_back() -> None:
    r = build.var("r", REAL)
    relation = Function("state", (REAL,), BOOL)
    half = build.real(Fraction(1, 2))
    system = path_system(
        (
            clause([], build.lt(r, half), build.apply(relation, (r,))),
            clause([build.apply(relation, (r,))], build.lt(half, r), None),
        )
    )
    model = solve(system)
    assert model is not None
    assert holds(system, model)


def test_arrays_are_read_back() -> None:
    sort = array(INT, INT)
    a = build.var("a", sort)
    relation = Function("state", (sort, INT), BOOL)
    system = path_system(
        (
            clause([], build.TRUE, build.apply(relation, (build.store(a, X, ONE), X))),
            clause([build.apply(relation, (a, X))], build.eq(build.select(a, X), TWO), None),
        )
    )
    model = solve(system)
    assert model is not None
    assert holds(system, model)


# ------------------------------------------------------------------------------------ predicates


def test_a_predicate_and_its_negation_are_one() -> None:
    three = build.integer(3)
    ways = [
        build.le(X, three),
        build.lt(X, build.integer(4)),
        build.gt(X, three),
        build.ge(X, build.integer(4)),
        build.le(build.mul(TWO, X), build.integer(7)),
        build.ge(build.neg(X), build.neg(three)),
    ]
    assert {predicates(way) for way in ways} == {(build.le(X, three),)}


def test_the_sign_is_that_of_one_fixed_coefficient() -> None:
    one, other = build.lt(build.sub(X, Y), ONE), build.lt(build.neg(ONE), build.sub(Y, X))
    assert predicates(one) == predicates(other)
    assert predicates(build.eq(build.sub(X, Y), ONE)) == predicates(build.eq(build.sub(Y, X), build.neg(ONE)))


def test_two_bounds_that_leave_one_value_are_an_equation() -> None:
    inside = build.and_(build.le(X, TWO), build.ge(X, TWO), build.le(Y, ONE))
    assert set(predicates(inside)) == {build.eq(X, TWO), build.le(Y, ONE)}
    outside = build.or_(build.lt(X, TWO), build.gt(X, TWO))
    assert predicates(outside) == (build.eq(X, TWO),)
    assert predicates(build.and_(build.le(X, TWO), build.ge(X, ONE))) != (build.eq(X, TWO),)


def test_impossible_equations_are_no_predicates() -> None:
    assert predicates(build.eq(build.mul(TWO, X), build.add(build.mul(TWO, Y), ONE))) == ()


def test_truth_values_as_numbers_are_no_numbers() -> None:
    """What C's `(x >= 0) != 0` says, and `!(x >= 0) == 0`, is said of x."""
    truth = build.ite(build.le(ZERO, X), ONE, ZERO)
    twice = build.ite(build.eq(truth, ZERO), ONE, ZERO)
    below = build.le(X, build.integer(-1))
    assert canonical(build.eq(truth, ZERO)) is below
    assert canonical(build.le(ONE, twice)) is below
    assert predicates(build.eq(ZERO, twice)) == (below,)


COEFFICIENTS = st.integers(-4, 4)
NEAR = st.integers(0, 3)
SUMS = st.builds(
    lambda a, b, c: build.add(build.scale(a, X), build.scale(b, Y), build.integer(c)),
    COEFFICIENTS,
    COEFFICIENTS,
    COEFFICIENTS,
)
COMPARISONS = st.sampled_from((build.le, build.lt, build.eq))
ATOMS = st.builds(lambda make, a, b: make(a, b), COMPARISONS, SUMS, SUMS)
FORMULAS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(build.not_, inner),
        st.builds(build.and_, inner, inner),
        st.builds(build.or_, inner, inner),
        st.builds(build.eq, inner, inner),
        st.builds(
            lambda make, c, k: make(build.ite(c, ONE, TWO), build.integer(k)), COMPARISONS, inner, NEAR
        ),
    ),
    max_leaves=6,
)


@given(FORMULAS, st.integers(-5, 5), st.integers(-5, 5))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_canonical_formulas_mean_the_same(formula: Expr, x: int, y: int) -> None:
    values = {X: x, Y: y}
    assert evaluate(canonical(formula), values) == evaluate(formula, values)


# -------------------------------------------------------------------- weakest preconditions, equations


def test_products_are_left_to_weakest_preconditions() -> None:
    state = Function("state", (INT,), BOOL)
    three, square = build.integer(3), build.mul(X, X)
    system = path_system(
        (
            clause([], build.TRUE, build.apply(state, (three,))),
            clause([build.apply(state, (X,))], build.ne(square, build.integer(9)), None),
        )
    )
    model = preconditions(system, budget=Budget(30), statistics=Statistics())
    assert model is not None
    assert holds(system, model)
    assert model.relations[state] == ((X,), build.eq(square, build.integer(9)))


def test_preconditions_forget_what_comes_before_an_input() -> None:
    before, after = Function("before", (), BOOL), Function("after", (INT,), BOOL)
    system = path_system(
        (
            clause([], build.TRUE, build.apply(before, ())),
            clause([build.apply(before, ())], build.le(X, ONE), build.apply(after, (X,))),
            clause([build.apply(after, (X,))], build.lt(ONE, X), None),
        )
    )
    model = preconditions(system, budget=Budget(30), statistics=Statistics())
    assert model is not None
    assert holds(system, model)
    assert model.relations[before] == ((), build.TRUE)


def test_preconditions_are_for_paths_without_calls_that_are_infeasible() -> None:
    feasible = chain(claim=build.eq(X, Y))
    assert preconditions(feasible, budget=Budget(30), statistics=Statistics()) is None
    state = Function("state", (INT,), BOOL)
    atom = build.apply(state, (X,))
    two = path_system(
        (clause([], build.TRUE, atom), clause([atom, build.apply(state, (Y,))], build.TRUE, None))
    )
    assert preconditions(two, budget=Budget(30), statistics=Statistics()) is None


def test_clauses_with_several_ends_are_no_path() -> None:
    """A conjunct of one end says nothing about the other."""
    state = Function("state", (INT,), BOOL)
    atom = build.apply(state, (X,))
    first = clause([], build.eq(X, build.integer(0)), atom)
    ends = [clause([atom], build.eq(X, build.integer(n)), None) for n in (1, 2)]
    again = clause([atom], build.TRUE, build.apply(state, (build.add(X, build.integer(1)),)))
    for system in ((first, *ends), (ends[0], first, ends[1]), (first, first, ends[0]), (again, ends[0])):
        assert preconditions(path_system(system), budget=Budget(30), statistics=Statistics()) is None
    assert preconditions(path_system((first, ends[0])), budget=Budget(30), statistics=Statistics())


def test_a_loop_in_phases_needs_no_search() -> None:
    """y stays 50 until x is 50, and grows with it then: no equation holds in both phases, one in each."""
    state = Function("state", (INT, INT), BOOL)
    fifty, hundred, one = build.integer(50), build.integer(100), build.integer(1)
    atom = build.apply(state, (X, Y))
    later = build.ite(build.ge(X, fifty), build.add(Y, one), Y)
    system = path_system(
        (
            clause([], build.TRUE, build.apply(state, (build.integer(0), fifty))),
            clause([atom], build.TRUE, build.apply(state, (build.add(X, one), later))),
            clause([atom], build.and_(build.eq(X, hundred), build.ne(Y, hundred)), None),
        )
    )
    limits: dict[str, Any] = {"budget": Budget(60), "statistics": Statistics()}
    assert invariants(system, effort=1, **limits) is None
    result = invariants_or_facts(system, effort=1, **limits)
    assert isinstance(result, Mapping)
    assert are_interpolants(system, Model(result), **limits)
    _, formula = result[state]
    assert formula.kind is Kind.OR


def test_equations_leave_only_bounds_to_the_search() -> None:
    """x = y = z = 0; x, y = x + 1, y + 1; x <= 1 and y >= 2: needs x == y, and nothing of z."""
    state, later = (Function(name, (INT, INT, INT), BOOL) for name in ("state", "later"))
    zero = build.integer(0)
    system = path_system(
        (
            clause([], build.TRUE, build.apply(state, (zero, zero, zero))),
            clause(
                [build.apply(state, (X, Y, Z))],
                build.TRUE,
                build.apply(later, (build.add(X, ONE), build.add(Y, ONE), Z)),
            ),
            clause([build.apply(later, (X, Y, Z))], build.and_(build.le(X, ONE), build.le(TWO, Y)), None),
        )
    )

    def nothing(relying: HornSystem) -> Model:
        return Model({r: ((X, Y, Z)[: len(r.parameters)], build.TRUE) for r in relying.relations})

    model = with_equations(system, nothing, budget=Budget(30), statistics=Statistics())
    assert model is not None
    assert holds(system, model)
    for names, formula in model.relations.values():
        assert formula is build.eq(names[0], names[1])

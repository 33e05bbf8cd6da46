"""Interpolants over values: paths that only copy integers and compare them with constants."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model
from certus.core.terms import BOOL, INT, Expr, Function
from certus.core.walk import variables
from certus.interpolation.constant_interpolants import by_values
from certus.interpolation.finite_clauses import finite_system
from certus.interpolation.interpolants import are_interpolants, path_system

x, y, now, flag = (build.var(name, INT) for name in ("x", "y", "now", "flag"))
on = build.var("on", BOOL)


def clause(constraint: Expr, head: Expr | None, *body: Expr) -> Clause:
    return Clause(variables(constraint, *body, *((head,) if head else ())), body, constraint, head)


def at(number: int, *arguments: Expr) -> Expr:
    return build.apply(Function(f"@{number}", tuple(a.sort for a in arguments), BOOL), arguments)


def path(steps: list[Expr], error: Expr, first: tuple[Expr, Expr]) -> HornSystem:
    """From the values in `first`, by steps that give `now` and `y` from x and flag, to an error on these."""
    clauses = [clause(build.TRUE, at(0, *first))]
    for number, step in enumerate(steps):
        clauses.append(clause(step, at(number + 1, now, y), at(number, x, flag)))
    clauses.append(clause(error, None, at(len(steps), x, flag)))
    return path_system(tuple(clauses))


def candidates(system: HornSystem) -> Model | None:
    return by_values(system, budget=Budget(20), statistics=Statistics())


def is_valid(system: HornSystem, model: Model) -> bool:
    return are_interpolants(system, model, budget=Budget(20), statistics=Statistics())


def equals(term: Expr, value: int) -> Expr:
    return build.eq(term, build.integer(value))


AUTOMATON = build.or_(
    build.and_(equals(x, 10), equals(now, 20), build.eq(y, flag)),
    build.and_(
        equals(x, 20), equals(now, 30), build.eq(y, build.ite(equals(flag, 0), build.integer(1), flag))
    ),
    build.and_(equals(x, 30), build.eq(now, flag), build.eq(y, flag)),
)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_an_automaton(length: int) -> None:
    error = build.and_(equals(x, 30), equals(flag, 0))
    system = path([AUTOMATON] * length, error, (build.integer(10), build.integer(0)))
    model = candidates(system)
    assert model is not None
    assert is_valid(system, model)


def test_a_possible_path_has_none() -> None:
    error = build.and_(equals(x, 30), equals(flag, 1))
    assert candidates(path([AUTOMATON] * 2, error, (build.integer(10), build.integer(0)))) is None


def test_bounds_count_as_comparisons() -> None:
    """Values between the constants matter too: what is below 5 and not 3."""
    step = build.and_(
        build.eq(now, x), build.eq(y, flag), build.le(x, build.integer(4)), build.not_(equals(x, 3))
    )
    error = build.or_(build.lt(build.integer(4), x), equals(x, 3))
    system = path([step], error, (build.var("input", INT), build.integer(0)))
    model = candidates(system)
    assert model is not None
    assert is_valid(system, model)


def test_truth_values_are_values() -> None:
    clauses = (
        clause(equals(x, 1), at(0, build.not_(equals(x, 1)), x)),
        clause(on, None, at(0, on, x)),
    )
    model = candidates(path_system(clauses))
    assert model is not None
    assert is_valid(path_system(clauses), model)


@pytest.mark.parametrize(
    "step",
    [
        build.and_(build.eq(now, build.add(x, build.integer(1))), build.eq(y, flag)),
        build.and_(build.eq(now, x), build.eq(y, flag), build.le(x, flag)),
    ],
)
def test_what_computes_or_compares_variables_is_left_to_others(step: Expr) -> None:
    system = path([step], equals(x, 7), (build.integer(1), build.integer(0)))
    assert finite_system(system) is None
    assert candidates(system) is None


def test_two_values_between_constants_are_taken_for_equal_and_the_check_notices() -> None:
    step = build.and_(build.eq(now, x), build.eq(y, flag), build.not_(build.eq(x, flag)))
    system = path([step], build.TRUE, (build.var("one", INT), build.var("other", INT)))
    model = candidates(system)
    assert model is not None
    assert not is_valid(system, model)

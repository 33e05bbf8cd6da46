"""Bounds guessed from comparisons: those that no clause refutes remain."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Unsupported
from certus.core.horn import HornSystem, clause_of, parameters
from certus.core.terms import BOOL, INT, Expr, Function
from certus.interpolation.candidate_bounds import inductive_bounds
from certus.solvers.z3.solver import Z3Solver

COUNT = Function("count", (INT,), BOOL)
X = build.var("x", INT)


def count(value: Expr) -> Expr:
    return build.apply(COUNT, (value,))


def bounds() -> tuple[Expr, ...]:
    """Return the bounds of a loop that counts from 0 while the count is less than 10."""
    start = clause_of((), build.TRUE, count(build.integer(0)))
    step = clause_of((count(X),), build.lt(X, build.integer(10)), count(build.add(X, build.integer(1))))
    system = HornSystem((COUNT,), (start, step))
    return inductive_bounds(system, {}, budget=Budget(), statistics=Statistics())[COUNT]


def test_bounds_that_every_step_preserves_remain() -> None:
    (counter,) = parameters(COUNT)
    assert build.le(counter, build.integer(10)) in bounds()
    assert build.le(counter, build.integer(9)) not in bounds()


def test_a_bound_without_a_value_in_the_model_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_: Z3Solver, __: Expr) -> bool:
        raise Unsupported(Diagnostic("unsupported-model-value", "the model has no such value"))

    inductive = set(bounds())
    monkeypatch.setattr(Z3Solver, "value", silent)
    assert set(bounds()) < inductive

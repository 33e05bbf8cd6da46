"""The Linear Program of a program over-approximates it, and is exact where the program is linear."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import ProgramBuilder
from tests.laws.lp_programs import programs
from tests.laws.strategies import I3, U3, environments, terms
from tests.laws.test_verdicts import fails

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import Undefined
from certus.core.program import Assume
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, Expr, Value
from certus.core.values import evaluate
from certus.encoding.linear_terms import normal_form
from certus.engines.linear.precision import Precision
from certus.frontend.lp import ast
from certus.frontend.lp.load import load_lp
from certus.frontend.lp.printer import print_lp
from certus.passes.linear_program import column, linear_program
from certus.report.linear_program import render_linear
from certus.solvers.portfolio import SolverPortfolio

COLUMNS = (*(build.var(n, INT) for n in "xy"), build.var("b", BOOL), build.var("i", I3), build.var("u", U3))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(tree=programs())
def test_the_text_fails_where_the_program_fails(tree: ast.ProgramText) -> None:
    program = load_lp(print_lp(tree), "random.lp").program
    abstraction = linear_program(program)
    again = load_lp(render_linear(abstraction), "linear.lp").program
    steps = (step for p in abstraction.procedures.values() for step in p.steps.values())
    if any(step.abstracted for step in steps):
        assert fails(again) or not fails(program)
    else:
        assert fails(again) == fails(program)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    formula=terms(BOOL, variables=COLUMNS, depth=4, functions=False),
    points=st.lists(environments(COLUMNS), min_size=3, max_size=3),
)
def test_a_condition_that_holds_may_hold_in_the_linear_program(
    formula: Expr, points: list[Mapping[Expr, Value]]
) -> None:
    b = ProgramBuilder()
    for x in COLUMNS:
        b.var(x.name, x.sort)
    b.edge("main", "entry", "exit", Assume(formula))
    (procedure,) = linear_program(b.build()).procedures.values()
    (step,) = procedure.steps.values()
    conditions = [op.condition for op in step.ops if isinstance(op, Assume)]
    for point in points:
        try:
            holds = evaluate(formula, point)
        except Undefined:
            continue
        solver = SolverPortfolio(Statistics())
        solver.add(*conditions)
        for x, value in point.items():
            solver.add(build.eq(column(x), build.constant(value, column(x).sort)))
        answer = solver.check(budget=Budget(60), purpose="test")
        assert answer is Answer.SAT if holds else step.abstracted or answer is Answer.UNSAT


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    formula=terms(BOOL, variables=COLUMNS, depth=4, functions=False),
    points=st.lists(environments(COLUMNS), min_size=3, max_size=3),
    numbers=st.lists(st.integers(-4, 4), max_size=3),
)
def test_normal_forms_and_case_splits_keep_the_meaning(
    formula: Expr, points: list[Mapping[Expr, Value]], numbers: list[int]
) -> None:
    precision = Precision()
    for name in "xiu":
        precision = precision.with_cases(name, numbers)
    other = [*normal_form([formula]), *precision.split([formula])]
    for point in points:
        try:
            holds = evaluate(formula, point)
        except Undefined:
            continue
        assert [evaluate(each, point) for each in other] == [holds, holds]

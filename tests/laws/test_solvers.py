"""z3, cvc5 and our own evaluator agree: on terms with given values, and on open formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.laws.settled import settled, some_settled
from tests.laws.strategies import SORTS, build, cases, literal, terms, values

from certus.core import build as make
from certus.core.accounting import Budget, Statistics
from certus.core.errors import Undefined
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, Expr, Function, MachineSort, machine
from certus.core.values import evaluate
from certus.core.walk import postorder, variables
from certus.solvers.cvc5 import Cvc5Solver
from certus.solvers.z3.solver import Z3Solver

LAW = settings(derandomize=True, deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
SECONDS = 10


@pytest.fixture(scope="module")
def z3() -> Z3Solver:
    return Z3Solver(Statistics())


@pytest.fixture(scope="module")
def cvc5() -> Cvc5Solver:
    return Cvc5Solver(Statistics())


def ask_z3(solver: Z3Solver, *formulas: Expr) -> Answer:
    solver.reset()
    solver.add(*formulas)
    return solver.check(budget=Budget(SECONDS), purpose="law")


def ask_cvc5(solver: Cvc5Solver, *formulas: Expr) -> Answer:
    return solver.check_formulas(formulas, budget=Budget(SECONDS), purpose="law")


def functions_of(term: Expr) -> list[Function]:
    return [t.function for t in postorder(term) if t.args and isinstance(t.data, Function)]


@LAW
@given(st.sampled_from(SORTS).flatmap(lambda sort: cases(sort, depth=3)))
def test_values_are_what_the_evaluator_says(z3: Z3Solver, cvc5: Cvc5Solver, case: Any) -> None:
    tree, env = case
    term = build(tree)
    assume(not any(isinstance(t.data, Function) for t in postorder(term)))
    try:
        query = settled(term, env)
    except Undefined:
        assume(False)
    assert ask_z3(z3, *query) is Answer.UNSAT
    assert ask_cvc5(cvc5, *query) is not Answer.SAT


BINARY: list[Callable[[Expr, Expr], Expr]] = [
    make.add,
    make.sub,
    make.mul,
    make.quot,
    make.rem,
    make.bit_and,
    make.bit_or,
    make.bit_xor,
    make.shl,
    make.shr,
    make.le,
    make.lt,
]
UNARY: list[Callable[[Expr], Expr]] = [make.neg, make.bit_not, make.to_int]
machines = st.builds(machine, st.integers(1, 64), signed=st.booleans())


@LAW
@given(machines, machines, st.data())
def test_machine_integers_of_every_width(
    z3: Z3Solver, cvc5: Cvc5Solver, sort: MachineSort, other: MachineSort, data: st.DataObject
) -> None:
    x, y, n = make.var("x", sort), make.var("y", sort), make.var("n", INT)
    amounts = values(sort) | st.integers(0, min(sort.high, sort.width))  # shifts mostly defined
    env = {x: data.draw(values(sort)), y: data.draw(amounts), n: data.draw(values(INT))}
    candidates = [operation(x, y) for operation in BINARY] + [operation(x) for operation in UNARY]
    candidates += [make.wrap(x, other), make.to_int(make.wrap(x, other)), make.wrap(n, sort)]
    query = some_settled(candidates, env)
    assert ask_z3(z3, *query) is Answer.UNSAT
    assert ask_cvc5(cvc5, *query) is Answer.UNSAT


@LAW
@given(terms(BOOL, depth=3))
def test_solvers_do_not_contradict_each_other_and_models_are_models(
    z3: Z3Solver, cvc5: Cvc5Solver, formula: Expr
) -> None:
    first, second = ask_z3(z3, formula), ask_cvc5(cvc5, formula)
    assert {first, second} != {Answer.SAT, Answer.UNSAT}
    if first is Answer.SAT:
        free = variables(formula)
        env = dict(zip(free, z3.values(free), strict=True))
        meanings = {f: meaning(z3, f) for f in functions_of(formula)}
        meanings |= {t.function: meaning(z3, t.function) for t in postorder(formula) if is_constant(t)}
        try:
            assert evaluate(formula, env, meanings) is True
        except Undefined:
            assert z3.value(formula) is True


def is_constant(term: Expr) -> bool:
    return isinstance(term.data, Function) and not term.args


def meaning(z3: Z3Solver, function: Function) -> Callable[..., Any]:
    """What z3's model says about a function."""

    def call(*args: Any) -> Any:
        given = [literal(a, s) for a, s in zip(args, function.parameters, strict=True)]
        return z3.value(make.apply(function, given))

    return call


def test_undefined_values_are_any_value_but_functions(z3: Z3Solver, cvc5: Cvc5Solver) -> None:
    for sort in (machine(8, signed=True), machine(8, signed=False), INT):
        x, y, zero = make.var("x", sort), make.var("y", sort), make.constant(0, sort)
        for operation in (make.quot, make.rem):
            some = make.eq(operation(x, zero), make.constant(77, sort))
            twice = make.and_(make.eq(x, y), make.ne(operation(x, zero), operation(y, zero)))
            odd = make.eq(operation(make.constant(1, sort), zero), make.constant(5, sort))
            if sort is INT or sort.low < 0:  # type: ignore[attr-defined]
                both = make.eq(operation(make.constant(-1, sort), zero), make.constant(5, sort))
                odd = make.and_(odd, both)
            for formula, answer in ((some, Answer.SAT), (twice, Answer.UNSAT), (odd, Answer.SAT)):
                assert ask_z3(z3, formula) is answer
                assert ask_cvc5(cvc5, formula) is answer


def test_oversized_shifts_are_any_value_but_functions(z3: Z3Solver, cvc5: Cvc5Solver) -> None:
    for sort in (machine(8, signed=True), machine(8, signed=False)):
        x, y, eight = make.var("x", sort), make.var("y", sort), make.constant(8, sort)
        for operation in (make.shl, make.shr):
            some = make.eq(operation(x, eight), make.constant(77, sort))
            twice = make.and_(make.eq(x, y), make.ne(operation(x, eight), operation(y, eight)))
            for formula, answer in ((some, Answer.SAT), (twice, Answer.UNSAT)):
                assert ask_z3(z3, formula) is answer
                assert ask_cvc5(cvc5, formula) is answer

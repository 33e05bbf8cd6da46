"""Bitwuzla, z3 and our own evaluator agree on what Bitwuzla treats: Booleans, machine integers, arrays of
these, and integers that come from machine integers."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.laws.settled import settled, some_settled
from tests.laws.strategies import ARRAYS, MACHINES, terms, values

from certus.core import build as make
from certus.core.accounting import Budget, Statistics
from certus.core.errors import Undefined
from certus.core.solver import Answer
from certus.core.terms import BOOL, INT, Expr, Function, MachineSort, machine
from certus.core.values import evaluate
from certus.core.walk import postorder, variables
from certus.solvers.bitwuzla.solver import BitwuzlaSolver
from certus.solvers.z3.solver import Z3Solver

LAW = settings(derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
SORTS = (BOOL, *MACHINES, *ARRAYS[1:3])
VARIABLES = tuple(make.var(f"{letter}.{sort.name}", sort) for sort in SORTS for letter in "xy")


def asked(*formulas: Expr) -> tuple[BitwuzlaSolver, Answer]:
    solver = BitwuzlaSolver(Statistics())
    solver.add(*formulas)
    return solver, solver.check(budget=Budget(10), purpose="law")


@LAW
@given(
    st.sampled_from((*SORTS, INT)).flatmap(
        lambda sort: terms(sort, variables=VARIABLES, depth=3, functions=False)
    ),
    st.data(),
)
def test_values_are_what_the_evaluator_says(term: Expr, data: st.DataObject) -> None:
    env = {v: data.draw(values(v.sort)) for v in variables(term)}
    try:
        query = settled(term, env)
    except Undefined:
        assume(False)
    solver, answer = asked(*query)
    assume(solver.fits)
    assert answer is Answer.UNSAT or (answer is Answer.SAT and not solver.exact)


NUMBERS: list[Callable[[Expr, Expr], Expr]] = [
    make.add,
    make.sub,
    make.mul,
    make.le,
    make.lt,
    make.eq,
    lambda x, y: make.ite(make.lt(x, y), x, y),
]
MACHINE: list[Callable[[Expr, Expr], Expr]] = [
    *(make.add, make.sub, make.mul, make.quot, make.rem, make.le, make.lt),
    *(make.bit_and, make.bit_or, make.bit_xor, make.shl, make.shr),
]
DIVISIONS: list[Callable[[Expr, Expr], Expr]] = [make.quot, make.rem, make.div, make.mod]
machines = st.builds(machine, st.integers(1, 64), signed=st.booleans())
divisors = st.integers(-40, 40).filter(bool) | st.integers(1 << 60, 1 << 70)


@LAW
@given(machines, machines, divisors, st.data())
def test_numbers_of_every_width(
    sort: MachineSort, other: MachineSort, divisor: int, data: st.DataObject
) -> None:
    x, y, z = make.var("x", sort), make.var("y", sort), make.var("z", other)
    amounts = values(sort) | st.integers(0, min(sort.high, sort.width))  # shifts mostly defined
    env = {x: data.draw(values(sort)), y: data.draw(amounts), z: data.draw(values(other))}
    wide, also = make.to_int(x), make.to_int(z)
    candidates = [operation(x, y) for operation in MACHINE]
    candidates += [make.neg(x), make.bit_not(x), make.wrap(x, other), wide]
    candidates += [operation(wide, also) for operation in NUMBERS]
    candidates += [operation(wide, make.integer(divisor)) for operation in DIVISIONS]
    candidates += [make.wrap(make.add(make.mul(wide, also), make.integer(divisor)), other)]
    solver, answer = asked(*some_settled(candidates, env))
    assert solver.fits
    assert answer is Answer.UNSAT


@LAW
@given(terms(BOOL, variables=VARIABLES, depth=4))
def test_it_does_not_contradict_z3_and_models_are_models(formula: Expr) -> None:
    solver, answer = asked(formula)
    assume(solver.fits and solver.exact)
    z3 = Z3Solver(Statistics())
    z3.add(formula)
    assert {z3.check(budget=Budget(10), purpose="law"), answer} != {Answer.SAT, Answer.UNSAT}
    if answer is Answer.SAT and not any(isinstance(t.data, Function) for t in postorder(formula)):
        free = variables(formula)
        try:
            assert evaluate(formula, dict(zip(free, solver.values(free), strict=True))) is True
        except Undefined:
            assert solver.value(formula) is True


@LAW
@given(terms(BOOL, variables=VARIABLES, depth=4, functions=False), st.data())
def test_no_model_is_lost_to_constant_arrays(formula: Expr, data: st.DataObject) -> None:
    """Where a formula holds for some values it is satisfiable, exact or not."""
    env = {v: data.draw(values(v.sort)) for v in variables(formula)}
    try:
        assume(evaluate(formula, env) is True)
    except Undefined:
        assume(False)
    solver, answer = asked(formula)
    assume(solver.fits)
    assert answer is Answer.SAT


def test_undefined_values_are_any_value_but_functions() -> None:
    for sort in (machine(8, signed=True), machine(8, signed=False)):
        x, y = make.var("x", sort), make.var("y", sort)
        for operation, bad in ((make.quot, 0), (make.rem, 0), (make.shl, 8), (make.shr, 8)):
            wrong = make.constant(bad, sort)
            some = make.eq(operation(x, wrong), make.constant(77, sort))
            twice = make.and_(make.eq(x, y), make.ne(operation(x, wrong), operation(y, wrong)))
            assert asked(some)[1] is Answer.SAT
            assert asked(twice)[1] is Answer.UNSAT

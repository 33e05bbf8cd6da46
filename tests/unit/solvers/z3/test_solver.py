"""z3: answers, models, cores, levels, limits, interrupts, and terms of any depth."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import BudgetExceeded, Inconsistent, Unsupported
from certus.core.solver import Answer, Solver
from certus.core.terms import BOOL, INT, REAL, Expr, Function, Kind, array, machine
from certus.core.values import ArrayValue
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.terms import decimal, from_decimal

I8, U8, I64 = machine(8, signed=True), machine(8, signed=False), machine(64, signed=True)
X, Y, Z = (build.var(name, INT) for name in "xyz")
P, Q = build.var("p", BOOL), build.var("q", BOOL)
ZERO, ONE = build.integer(0), build.integer(1)


@pytest.fixture
def solver() -> Z3Solver:
    return Z3Solver(Statistics())


def ask(solver: Solver, *assumptions: Expr, seconds: float | None = 20) -> Answer:
    return solver.check(assumptions, budget=Budget(seconds), purpose="test")


def cube(term: Expr) -> Expr:
    return build.mul(term, build.mul(term, term))


def fermat() -> Expr:
    """Unsatisfiable, and too hard to find out."""
    sum_of_cubes = build.eq(build.add(cube(X), cube(Y)), cube(Z))
    return build.and_(sum_of_cubes, build.lt(ONE, X), build.lt(ONE, Y))


def test_answers_and_values(solver: Z3Solver) -> None:
    solver.add(build.lt(X, Y), build.lt(Y, build.integer(2)), build.lt(ZERO, Y))
    assert ask(solver) is Answer.SAT
    assert solver.value(Y) == 1
    assert solver.value(build.lt(X, Y)) is True
    solver.add(build.lt(ZERO, X))
    assert ask(solver) is Answer.UNSAT


def test_queries_are_counted_by_purpose() -> None:
    statistics = Statistics()
    solver = Z3Solver(statistics)
    for _ in range(3):
        solver.check(budget=Budget(), purpose="reach")
    assert statistics.counters == {"solver.reach": 3}
    assert statistics.seconds["solver.reach"] > 0


def test_models_complete_what_is_open(solver: Z3Solver) -> None:
    assert ask(solver) is Answer.SAT
    assert solver.values((X, P, build.var("m", U8))) == (0, False, 0)


@pytest.mark.parametrize(
    ("sort", "value"),
    [
        (BOOL, True),
        (INT, -(10**30)),
        (REAL, Fraction(-7, 3)),
        (REAL, Fraction(10**40, 3)),
        (I8, -128),
        (U8, 255),
        (I64, -(2**63)),
        (machine(64, signed=False), 2**64 - 1),
        (machine(200, signed=True), -(2**199)),
        (machine(1, signed=True), -1),
        (array(INT, INT), ArrayValue(array(INT, INT), 3, {1: 2, 5: -7})),
        (array(U8, array(BOOL, I8)), None),
    ],
)
def test_values_of_every_sort(solver: Z3Solver, sort: object, value: object) -> None:
    if value is None:
        inner = ArrayValue(array(BOOL, I8), -1, {True: 4})
        value = ArrayValue(array(U8, array(BOOL, I8)), ArrayValue(array(BOOL, I8), 0), {200: inner})
    variable = build.var("v", sort)  # type: ignore[arg-type]
    solver.add(build.eq(variable, closed(value, sort)))
    assert ask(solver) is Answer.SAT
    returned = solver.value(variable)
    assert returned == value
    assert type(returned) is type(value)


def closed(value: object, sort: object) -> Expr:
    if not isinstance(value, ArrayValue):
        return build.constant(value, sort)  # type: ignore[arg-type]
    term = build.const_array(value.sort.index, closed(value.default, value.sort.element))
    for index, element in value.entries.items():
        term = build.store(term, closed(index, value.sort.index), closed(element, value.sort.element))
    return term


def test_integers_of_ten_thousand_digits(solver: Z3Solver) -> None:
    huge = -(10**10000) + 7
    solver.add(build.eq(build.add(X, ONE), build.integer(huge)))
    assert ask(solver) is Answer.SAT
    assert solver.value(X) == huge - 1


def test_decimal_texts_of_any_length() -> None:
    for value in (0, 7, -7, 10**4000 - 1, 10**4000, -(10**12000) - 3, 7 * 10**8000):
        assert from_decimal(decimal(value)) == value
    assert decimal(-120) == "-120"


def test_an_irrational_value_is_refused(solver: Z3Solver) -> None:
    root = build.var("r", REAL)
    solver.add(build.eq(build.mul(root, root), build.real(2)))
    assert ask(solver) is Answer.SAT
    with pytest.raises(Unsupported):
        solver.value(root)


def test_a_core_is_a_subset_of_the_assumptions_in_their_order(solver: Z3Solver) -> None:
    solver.add(build.or_(P, build.lt(X, ZERO)))
    low, high, other = build.lt(build.integer(5), X), build.not_(P), build.lt(Y, Z)
    assert ask(solver, other, low, high) is Answer.UNSAT
    assert solver.core() == (low, high)
    assert ask(solver, other, high) is Answer.SAT


def test_a_core_without_assumptions_is_empty(solver: Z3Solver) -> None:
    solver.add(build.FALSE)
    assert ask(solver, P) is Answer.UNSAT
    assert solver.core() == ()


def test_constants_and_repetitions_may_be_assumed(solver: Z3Solver) -> None:
    assert ask(solver, build.TRUE, P, P) is Answer.SAT
    assert ask(solver, P, build.FALSE) is Answer.UNSAT
    assert solver.core() == (build.FALSE,)


def test_levels(solver: Z3Solver) -> None:
    small = build.lt(X, ZERO)
    solver.add(build.lt(ZERO, X))
    solver.push()
    solver.add(build.lt(X, ONE))
    assert ask(solver, build.lt(Y, X)) is Answer.UNSAT
    solver.pop()
    assert ask(solver) is Answer.SAT
    assert solver.formulas == (build.lt(ZERO, X),)
    with pytest.raises(ValueError, match="pop without push"):
        solver.pop()
    solver.push()  # an assumption first met within a level means the same after it
    assert ask(solver, small) is Answer.UNSAT
    solver.pop()
    assert ask(solver, small) is Answer.UNSAT
    assert solver.core() == (small,)


def test_reset_forgets_formulas_and_levels(solver: Z3Solver) -> None:
    solver.push()
    solver.add(build.FALSE)
    assert ask(solver, build.lt(X, Y)) is Answer.UNSAT
    solver.reset()
    assert ask(solver, build.lt(X, Y)) is Answer.SAT
    assert ask(solver, build.lt(X, Y), build.lt(Y, X)) is Answer.UNSAT
    with pytest.raises(ValueError, match="pop without push"):
        solver.pop()


def test_models_and_cores_go_out_of_date(solver: Z3Solver) -> None:
    with pytest.raises(ValueError, match="no model"):
        solver.value(X)
    assert ask(solver) is Answer.SAT
    with pytest.raises(ValueError, match="no core"):
        solver.core()
    solver.add(build.lt(X, Y))
    with pytest.raises(ValueError, match="no model"):
        solver.value(X)
    assert ask(solver, build.FALSE) is Answer.UNSAT
    with pytest.raises(ValueError, match="no model"):
        solver.value(X)
    solver.push()
    with pytest.raises(ValueError, match="no core"):
        solver.core()


def test_same_name_other_sort_is_another_variable(solver: Z3Solver) -> None:
    one, other = build.constant(1, I8), build.constant(2, U8)
    nullary = build.apply(Function("x", (), I8), ())
    solver.add(build.eq(build.var("x", I8), one), build.eq(build.var("x", U8), other))
    solver.add(build.eq(nullary, build.constant(3, I8)), build.eq(X, build.integer(4)))
    f, g = Function("f", (I8,), INT), Function("f", (U8,), INT)
    solver.add(build.ne(build.apply(f, (one,)), build.apply(g, (build.constant(1, U8),))))
    assert ask(solver) is Answer.SAT
    assert solver.values((build.var("x", I8), build.var("x", U8), nullary, X)) == (1, 2, 3, 4)


@pytest.mark.parametrize("name", ["", "a b", "|", "ä€", "k!1", "a\0b", "true", "(x"])
def test_any_name_will_do(solver: Z3Solver, name: str) -> None:
    variable = build.var(name, INT)
    solver.add(build.eq(variable, build.integer(5)), build.eq(build.var("a", INT), ZERO))
    assert ask(solver, build.lt(ZERO, variable)) is Answer.SAT
    assert solver.value(variable) == 5


def test_quantifiers_bind_the_last_variable_nearest(solver: Z3Solver) -> None:
    first, last = build.bound(1, INT), build.bound(0, INT)
    implies_positive = build.implies(build.lt(first, last), build.lt(ZERO, build.sub(last, first)))
    assert_valid = build.not_(build.forall((INT, INT), implies_positive))
    solver.add(assert_valid)
    assert ask(solver) is Answer.UNSAT
    solver.reset()
    mixed = build.exists((BOOL, INT), build.and_(build.bound(1, BOOL), build.eq(build.bound(0, INT), X)))
    solver.add(mixed)
    assert ask(solver) is Answer.SAT


def test_a_hard_problem_ends_near_its_limit(solver: Z3Solver) -> None:
    solver.add(fermat())
    for assumptions in ((), (P,)):
        start = time.monotonic()
        assert ask(solver, *assumptions, seconds=0.3) is Answer.UNKNOWN
        assert time.monotonic() - start < 15
    solver.reset()
    assert ask(solver, P) is Answer.SAT  # an earlier time-out leaves nothing behind


def test_a_limit_on_effort_holds_for_one_check(solver: Z3Solver) -> None:
    solver.add(fermat())
    assert solver.check(budget=Budget(60), purpose="test", effort=1000) is Answer.UNKNOWN
    assert solver.was_ended
    solver.reset()
    assert ask(solver, P) is Answer.SAT
    assert not solver.was_ended


def test_an_exhausted_budget_is_an_exception(solver: Z3Solver) -> None:
    spent = Budget(0)
    time.sleep(0.001)
    with pytest.raises(BudgetExceeded):
        solver.check(budget=spent, purpose="test")


@pytest.mark.no_cover
def test_twenty_thousand_deep(solver: Z3Solver) -> None:
    flag, number, memory = P, X, build.var("a", array(INT, INT))
    for step in range(20_000):
        flag = build.not_(build.and_(flag, build.var(f"p{step}", BOOL)))
        number = build.ite(build.var(f"p{step}", BOOL), build.select(memory, number), build.add(number, ONE))
    solver.add(flag)
    assert ask(solver, seconds=60) is Answer.SAT
    assert solver.value(flag) is True
    assert isinstance(solver.value(number), int)
    start = time.monotonic()
    solver.close()
    assert time.monotonic() - start < 20


def test_options_and_logic() -> None:
    solver = Z3Solver(Statistics(), logic="QF_LIA", options={"smt.relevancy": 0, "smt.random_seed": 7})
    solver.add(build.lt(X, Y))
    assert ask(solver, build.lt(Y, X)) is Answer.UNSAT
    with pytest.raises(Inconsistent, match="nonsense"):
        Z3Solver(Statistics(), options={"nonsense": 1})


def test_a_rejected_call_is_an_exception_not_an_exit(
    solver: Z3Solver, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Inconsistent, match="z3 rejected"):
        solver.add(Expr(Kind.LE, (X, build.var("m", I8)), None, BOOL))
    assert capfd.readouterr() == ("", "")


def test_closing_twice_is_fine(solver: Z3Solver) -> None:
    solver.close()
    solver.close()


INTERRUPTED = """
import signal, sys, time
from certus.core import build
from certus.core.accounting import Budget
from certus.core.terms import INT
from certus.core.accounting import Statistics
from certus.solvers.z3.solver import Z3Solver
{handler}
x, y, z = (build.var(n, INT) for n in "xyz")
cube = lambda t: build.mul(t, build.mul(t, t))
solver = Z3Solver(Statistics())
one = build.integer(1)
solver.add(build.eq(build.add(cube(x), cube(y)), cube(z)), build.lt(one, x), build.lt(one, y))
print("ready", flush=True)
try:
    print(solver.check(budget=Budget({seconds}), purpose="test"))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("handler", "seconds", "output", "code"),
    [
        ("", 60, "interrupted\n", 0),
        ("signal.signal(signal.SIGINT, lambda *_: print('noted'))", 60, "noted\nunknown\n", 0),
        ("signal.signal(signal.SIGINT, signal.SIG_IGN)", 2, "unknown\n", 0),
        ("signal.signal(signal.SIGINT, signal.SIG_DFL)", 60, "", -signal.SIGINT),
    ],
)
def test_an_interrupt_reaches_its_handler(handler: str, seconds: int, output: str, code: int) -> None:
    with launch(INTERRUPTED.format(handler=handler, seconds=seconds)) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=30)
        assert (rest, child.returncode) == (output, code)
        assert time.monotonic() - start < 30


def launch(script: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
    )


OUT_OF_MEMORY = """
import resource
from certus.core import build
from certus.core.accounting import Budget
from certus.core.errors import BudgetExceeded
from certus.core.terms import machine
from certus.core.accounting import Statistics
from certus.solvers.z3.solver import Z3Solver
solver = Z3Solver(Statistics())
x, y = (build.var(n, machine(256, signed=False)) for n in "xy")
product = x
for _ in range(20):
    product = build.mul(product, build.add(product, y))
solver.add(build.eq(product, build.constant(12345, x.sort)))
resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
try:
    solver.check(budget=Budget(60), purpose="test")
except BudgetExceeded as problem:
    print(problem.limit)
"""


def test_too_little_memory_is_a_limit_reached() -> None:
    with launch(OUT_OF_MEMORY) as child:
        output, _ = child.communicate(timeout=90)
    assert (output, child.returncode) == ("memory\n", 0)

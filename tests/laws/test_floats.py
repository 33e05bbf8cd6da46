"""Exact floating point agrees with the processor, with every solver, and with the interpreter."""

from __future__ import annotations

from random import Random

import pytest
from tests.laws import float_hardware as hardware
from tests.laws import float_solvers as solvers

from certus.core import build, float_terms, floats
from certus.core.accounting import Budget, Statistics
from certus.core.errors import Undefined
from certus.core.floats import F16, F32, F64, FORMATS, MODES, X87, Format
from certus.core.solver import Answer
from certus.core.terms import FLOATS, Expr, Kind, machine
from certus.core.values import evaluate
from certus.interpreter.expressions import Writer, define, new_namespace
from certus.interpreter.inputs import special_floats
from certus.solvers.bitwuzla.solver import BitwuzlaSolver
from certus.solvers.cvc5 import Cvc5Solver
from certus.solvers.z3.solver import Z3Solver

COUNT = 3000  # operations of each format and mode; scripts/float_laws.py computes more
_OPERANDS = {Kind.F_FMA: 3, Kind.F_SQRT: 1, Kind.F_RTI: 1, Kind.F_CONVERT: 1, Kind.F_TO: 1, Kind.F_FROM: 1}
_UNROUNDED = (Kind.F_REM, Kind.F_EQ, Kind.F_LT, Kind.F_LE, Kind.F_TO)


@pytest.mark.parametrize("mode", hardware.HARDWARE_MODES)
@pytest.mark.parametrize("format", hardware.FORMATS, ids=lambda f: f.name)
def test_operations_are_those_of_the_processor(format: Format, mode: int) -> None:
    assert hardware.disagreements(format, mode, COUNT, seed=0) == []


@pytest.mark.parametrize("mode", hardware.HARDWARE_MODES)
def test_conversions_are_those_of_the_processor(mode: int) -> None:
    assert hardware.conversion_disagreements(mode, COUNT, seed=0) == []


def drawn(kind: Kind, random: Random) -> tuple[Expr, dict[Expr, int]]:
    """Return an operation on variables, and values for them."""
    format = random.choice((F16, F32) if kind is Kind.F_REM else tuple(FORMATS.values()))
    data, sort = format.name, None
    sorts = [float_terms.float_sort(format)] * _OPERANDS.get(kind, 2)
    values = [random.choice(special_floats(format)) for _ in sorts]
    if random.random() < 0.7:
        values = [hardware.random_bits(format, random, near=values[0]) for _ in sorts]
    if kind is Kind.F_FROM:
        sorts = [machine(random.choice((8, 32, 64)), signed=random.random() < 0.5)]
        values = [random.choice((sorts[0].low, sorts[0].high, random.randint(sorts[0].low, sorts[0].high)))]
    elif kind is Kind.F_CONVERT:
        data = f"{format.name} {random.choice([f for f in FORMATS if f != format.name])}"
    elif kind is Kind.F_TO:
        sort = machine(random.choice((8, 32, 64)), signed=random.random() < 0.5)
    operands = [build.var(f"x{number}", each) for number, each in enumerate(sorts)]
    env = dict(zip(operands, values, strict=True))
    if kind not in _UNROUNDED:
        mode = build.var("mode", float_terms.ROUNDING)
        env[mode] = random.choice(MODES)
        operands.append(mode if random.random() < 0.3 else build.constant(env[mode], float_terms.ROUNDING))
    return float_terms.float_term(kind, data, operands, sort), env


@pytest.mark.parametrize("kind", sorted(FLOATS))
def test_solvers_and_interpreter_compute_the_same(kind: Kind) -> None:
    random = Random(kind.name)
    decided = dict.fromkeys(("z3", "bitwuzla", "cvc5"), 0)
    for _ in range(12):
        term, env = drawn(kind, random)
        try:
            value = evaluate(term, env)
        except Undefined:
            assert interpreted(term, env) is None
            continue
        assert interpreted(term, env) == value
        given = [build.eq(x, build.constant(v, x.sort)) for x, v in env.items()]
        same = build.eq(term, build.constant(value, term.sort))
        for formula, expected in ((same, Answer.SAT), (build.not_(same), Answer.UNSAT)):
            for name, answer in answers([*given, formula]):
                assert answer in (expected, Answer.UNKNOWN), (name, term, env, value)
                decided[name] += answer is expected
    assert all(decided.values())


@pytest.mark.parametrize("solver", ["z3", "bitwuzla"])
def test_solvers_compute_many_operations(solver: str) -> None:
    """A sample; scripts/float_laws.py computes all, and with cvc5, too."""
    for number, (kind, format, mode) in enumerate(solvers.questions(solver)):
        if number % 7 == 0 and kind is not Kind.F_FMA:
            tally = solvers.disagreements(solver, kind, format, mode, 100, seed=0)
            assert (tally.wrong, tally.undecided) == ((), 0)
            assert tally.decided > 20


def test_a_solver_that_computes_something_else_is_noticed() -> None:
    one, two = (build.constant(floats.from_integer(F32, n), float_terms.float_sort(F32)) for n in (1, 2))
    total = Expr(Kind.F_ADD, (one, one, float_terms.TO_NEAREST), "f32", one.sort)
    assert solvers.agrees("z3", [(total, two)], unique=True) is True
    assert solvers.agrees("z3", [(total, one)], unique=False) is False


def answers(formulas: list[Expr]) -> list[tuple[str, Answer]]:
    budget, statistics = Budget(20), Statistics()
    z3, bitwuzla = Z3Solver(statistics), BitwuzlaSolver(statistics)
    z3.add(*formulas)
    bitwuzla.add(*formulas)
    return [
        ("z3", z3.check(budget=budget, purpose="law")),
        ("bitwuzla", bitwuzla.check(budget=budget, purpose="law")),
        ("cvc5", Cvc5Solver(statistics).check_formulas(formulas, budget=budget, purpose="law")),
    ]


def interpreted(term: Expr, env: dict[Expr, int]) -> object:
    """Return the value that generated code computes."""
    namespace = new_namespace()
    names = {x: f"v{number}" for number, x in enumerate(env)}
    writer = Writer(names, namespace)
    (text,) = writer.terms([term])
    body = "\n".join(writer.lines)
    define(f"def compute({', '.join(names.values())}):\n{body}\n return {text.text}\n", "law", namespace)
    compute = namespace["compute"]
    assert callable(compute)
    return compute(*env.values())


def test_equal_results_of_different_operations_may_have_different_bits() -> None:
    """-0.0 == 0.0, but no solver may conclude that the bits are equal."""
    x = build.var("x", float_terms.float_sort(F64))
    zero = build.constant(0, x.sort)
    formulas = [float_terms.float_term(Kind.F_EQ, "f64", (x, zero)), build.ne(x, zero)]
    assert {answer for _, answer in answers(formulas)} == {Answer.SAT}


def test_nothing_is_folded_that_holds_only_for_real_numbers() -> None:
    x = build.var("x", float_terms.float_sort(F32))
    nearest = float_terms.TO_NEAREST
    difference = float_terms.float_term(Kind.F_SUB, "f32", (x, x, nearest))
    product = float_terms.float_term(Kind.F_MUL, "f32", (x, build.constant(0, x.sort), nearest))
    same = float_terms.float_term(Kind.F_EQ, "f32", (x, x))
    assert [t.kind for t in (difference, product, same)] == [Kind.F_SUB, Kind.F_MUL, Kind.F_EQ]
    for formula in (build.not_(same), build.ne(difference, build.constant(0, x.sort))):
        assert {answer for _, answer in answers([formula])} == {Answer.SAT}


def test_extended_patterns_that_the_hardware_does_not_make() -> None:
    """An unnormal number is NaN, a small one with a leading 1 has the value of that bit."""
    bits = build.var("x", float_terms.float_sort(X87))
    unnormal, small = 0x3FFF << 64 | 5, 1 << 63 | 5
    assert floats.is_nan(X87, unnormal)
    assert floats.to_fraction(X87, small) == floats.to_fraction(X87, 1 << 64 | small)
    equal = float_terms.float_term(Kind.F_EQ, "x87", (bits, build.constant(1 << 64 | small, bits.sort)))
    z3 = Z3Solver(Statistics())
    z3.add(build.eq(bits, build.constant(small, bits.sort)), build.not_(equal))
    assert z3.check(budget=Budget(20), purpose="law") is Answer.UNSAT

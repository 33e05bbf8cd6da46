"""Provisional widths, relaxed by cores (Zaks et al. 2006, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.analysis.ranges_of import c_program

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Safe, Trace, Unrolling, Unsafe
from certus.core.outcome import ProofCheck, Replay
from certus.core.solver import Answer
from certus.core.terms import Expr, machine
from certus.encoding.narrowing import Narrowing, fits
from certus.engines.registry import ENGINES
from certus.passes.large_blocks import LargeBlocks
from certus.run.publish import examine
from certus.solvers.z3.solver import Z3Solver

SORT = machine(32, signed=False)
X, Y = build.var("x", SORT), build.var("y", SORT)
FACTORS = """extern unsigned long any(void); extern void reach_error(void);
int main(void) { unsigned long a = any(), b = any(); if (a < 2 || b < 2) return 0;
  if (a * b == 1517 && a < b) reach_error(); return 0; }"""
NONE = """extern unsigned any(void); extern void reach_error(void);
int main(void) { unsigned x = any(), y = any();
  if (x > 1000 && y > 70000 && x < 5000 && y < 80000 && x * 2 + y == 65) reach_error(); return 0; }"""


def number(value: int) -> Expr:
    return build.constant(value, SORT)


def asked(*formulas: Expr) -> tuple[Answer, Narrowing, Z3Solver]:
    solver = Z3Solver(Statistics())
    solver.add(*formulas)
    narrowing = Narrowing(solver)
    narrowing.cover([X, Y])
    return narrowing.check([], budget=Budget(20), purpose="test"), narrowing, solver


def test_a_small_model_is_found_at_once() -> None:
    answer, narrowing, solver = asked(build.eq(build.add(X, Y), number(11)))
    assert (answer, narrowing.rounds) == (Answer.SAT, 1)
    assert all(int(solver.value(x)) < 16 for x in (X, Y))  # type: ignore[arg-type]


@pytest.mark.parametrize("least", [100, 40_000, 3_000_000_000])
def test_widths_are_relaxed_as_far_as_needed(least: int) -> None:
    answer, narrowing, solver = asked(build.le(number(least), X), build.le(Y, number(3)))
    assert answer is Answer.SAT
    assert 1 < narrowing.rounds <= 4
    assert int(solver.value(X)) >= least  # type: ignore[arg-type]


def test_what_has_no_model_has_none() -> None:
    answer, _, _ = asked(build.lt(X, Y), build.lt(Y, X))
    assert answer is Answer.UNSAT


def test_fitting_is_signed_as_the_type() -> None:
    z = build.var("z", machine(32, signed=True))
    bounds = (build.constant(-8, z.sort), build.constant(7, z.sort))
    assert fits(z, 4) is build.and_(build.le(bounds[0], z), build.le(z, bounds[1]))
    assert fits(X, 4) is build.le(X, number(15))


def test_bmc_finds_a_counterexample_with_small_numbers() -> None:
    program = c_program(FACTORS)
    task, back = LargeBlocks("large").apply(Task(program))
    engine = ENGINES["bmc"]
    verdict = back.verdict(engine.run(task, engine.options(narrow=True), Budget(60), Statistics()))
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Trace)
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    assert isinstance(check, Replay), check


def test_bmc_ends_soundly_where_there_is_none() -> None:
    program = c_program(NONE)
    task, back = LargeBlocks("large").apply(Task(program))
    engine = ENGINES["bmc"]
    verdict = back.verdict(engine.run(task, engine.options(narrow=True), Budget(60), Statistics()))
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Unrolling)
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    assert isinstance(check, ProofCheck), check


def test_a_solver_that_names_all_widths_relaxes_one_at_a_time() -> None:
    class Vague(Z3Solver):
        def core(self) -> tuple[Expr, ...]:
            return self.last

        def check(self, assumptions: Sequence[Expr] = (), *, budget: Budget, purpose: str) -> Answer:
            self.last = tuple(assumptions)
            return super().check(assumptions, budget=budget, purpose=purpose)

    solver = Vague(Statistics())
    solver.add(build.eq(build.mul(X, Y), number(40_000)), build.lt(X, number(150)))
    narrowing = Narrowing(solver)
    narrowing.cover([X, Y])
    assert narrowing.check([], budget=Budget(20), purpose="test") is Answer.SAT
    assert narrowing.rounds == 3  # 4 bits, 8 and 16
    solver.add(build.lt(X, number(0)))
    assert narrowing.check([], budget=Budget(20), purpose="test") is Answer.UNSAT

"""Concrete runs as engines: the only execution of a program without inputs, and random runs whose inputs are
simplified."""

from __future__ import annotations

from certus.check.replay.replay import replay
from certus.core.accounting import Budget, Statistics
from certus.core.engine import NoOptions, Task
from certus.core.evidence import Execution, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.outcome import Replay
from certus.core.program import Program
from certus.engines.execution import OnlyExecution
from certus.engines.random import RandomRuns
from certus.frontend.lp.load import load_lp

ENDLESS = "void main() { int x = 0; while (x >= 0) { x = x + 1; } assert(x < 0); }"
TWO_INPUTS = "void main() { int x = *; while (x != 7) { x = 0 - x; } assert(x == 7); }"


def answer(engine: OnlyExecution | RandomRuns, text: str) -> tuple[Verdict, Program]:
    program = load_lp(text, "runs.lp").program
    return engine.run(Task(program), NoOptions(), Budget(20), Statistics()), program


def test_a_program_without_inputs_is_run() -> None:
    verdict, _ = answer(
        OnlyExecution(), "void main() { int x = 0; while (x < 5) { x = x + 1; } assert(x == 5); }"
    )
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Execution)


def test_a_program_with_inputs_has_more_than_one_execution() -> None:
    verdict, _ = answer(OnlyExecution(), TWO_INPUTS)
    assert isinstance(verdict, Unknown)
    assert verdict.reason.code == "has-inputs"


def test_random_inputs_reach_a_shallow_error_and_are_simplified() -> None:
    verdict, program = answer(
        RandomRuns(),
        "void main() { int x = *; int y = *; int z = *; assume(y > 2); if (x > 0) { assert(z == 5); } }",
    )
    assert isinstance(verdict, Unsafe)
    trace = verdict.refutation
    assert isinstance(trace, Trace)
    assert isinstance(replay(program, trace, budget=Budget(5)), Replay)
    x, y = sorted(values for executions in trace.inputs.values() for (values,) in executions)
    assert x == 1
    assert y > 2  # z is 0, which a trace need not say


def test_random_runs_prove_nothing() -> None:
    verdict, _ = answer(RandomRuns(), "void main() { int x = *; assume(x > 3); assert(x > 2); }")
    assert isinstance(verdict, Unknown)


def test_random_runs_without_end_are_cut_off() -> None:
    verdict, _ = answer(RandomRuns(), TWO_INPUTS)
    assert isinstance(verdict, Unknown)


def test_a_run_without_inputs_is_not_repeated() -> None:
    verdict, _ = answer(RandomRuns(), ENDLESS)
    assert isinstance(verdict, Unknown)
    assert verdict.reason.code == "nothing-found"

"""Cheap looks: the one run of a program without inputs, and random runs whose inputs are made simple."""

from __future__ import annotations

import time

from certus.core.budget import Budget
from certus.core.evidence import Execution, Trace
from certus.core.outcome import Replay
from certus.core.program import Program
from certus.core.verdict import Safe, Unsafe
from certus.frontend.lp.load import load_lp
from certus.pipeline.looks import runs
from certus.validate.replay import replay


def looked(text: str) -> tuple[Safe | Unsafe | None, str, Program]:
    program = load_lp(text, "look.lp").program
    return (*runs(program, Budget(20)), program)


def test_a_program_without_inputs_is_run() -> None:
    verdict, how, _ = looked("void main() { int x = 0; while (x < 5) { x = x + 1; } assert(x == 5); }")
    assert how == "execution"
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Execution)


def test_random_inputs_find_a_shallow_error_and_are_made_simple() -> None:
    verdict, how, program = looked(
        "void main() { int x = *; int y = *; int z = *; assume(y > 2); if (x > 0) { assert(z == 5); } }"
    )
    assert how == "random"
    assert isinstance(verdict, Unsafe)
    trace = verdict.refutation
    assert isinstance(trace, Trace)
    assert isinstance(replay(program, trace, budget=Budget(5)), Replay)
    x, y = sorted(values for executions in trace.inputs.values() for (values,) in executions)
    assert x == 1
    assert y > 2  # z is 0, which a trace need not say


def test_what_holds_is_not_decided_by_chance() -> None:
    verdict, how, _ = looked("void main() { int x = *; assume(x > 3); assert(x > 2); }")
    assert (verdict, how) == (None, "random")


def test_a_look_is_short() -> None:
    start = time.monotonic()
    verdict, _, _ = looked("void main() { int x = *; while (x != 7) { x = 0 - x; } assert(x == 7); }")
    assert verdict is None
    assert time.monotonic() - start < 5

"""Every registered engine on every small program: a definite answer is right, and its evidence checks.

A new engine is picked up by itself. It may answer UNKNOWN; `DECIDES` names what an engine is known to
decide, so that losing an answer shows too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from tests.expectations import Expected, all_expected

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Trace
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.engines.registry import ENGINES
from certus.frontend.lp.load import load_lp
from certus.pipeline.confirm import examine
from certus.transform.large_blocks import MODES, LargeBlocks, Mode

OPTIONS: Mapping[str, Mapping[str, int]] = {
    "bmc": {"bound": 40},
    "predicate": {"refinements": 5},
    "linear": {"steps": 300},
    "spacer": {"effort": 500_000},
    "clp": {"refinements": 3},
    "kind": {"k": 12},
}

# Loops and recursions that `predicate` unrolls round by round, and products it finds no interpolants for.
UNROLLED = ("deep_bug", "factorial", "gcd_by_subtraction", "jump_into_loop", "parity_bug", "several_results")
UNROLLED += ("sum",)

# Products and divisions of variables; and Euclid's algorithm, whose relation is no finite union.
NOT_LINEAR = ("division_by_zero_ends", "division_checked", "division_in_condition", "division_unchecked")
NOT_LINEAR += ("big_integers", "early_return", "factorial", "gcd_by_subtraction", "several_results")
NOT_LINEAR += ("straight_line", "straight_line_bug", "sum", "sum_bug")

# What ranges alone can prove.
WITHIN_RANGES = ("assume_blocks", "endless_loop", "error_label", "straight_line", "swap", "unbounded_lock")

# Without calls, and inductive over a few loop heads or failing within them.
INDUCTIVE = ("assume_blocks", "boolean_algebra", "boolean_handshake", "division_checked", "endless_loop")
INDUCTIVE += ("error_label", "jump_into_loop", "local_of_each_iteration", "loop_at_entry")
INDUCTIVE += ("parallel_assignment", "parallel_assignment_bug", "straight_line", "unbounded_counter_bug")

# What Spacer does not find with little effort, and what takes `clp` more than a few refinements.
BEYOND_SPACER = ("big_integers", "break_and_continue", "deep_bug", "factorial", "fibonacci_bug")
BEYOND_SPACER += ("division_by_zero_ends", "division_checked", "division_in_condition", "division_unchecked")
BEYOND_SPACER += ("gcd_by_subtraction", "mutual_recursion", "parity", "several_results", "sum")
BEYOND_SPACER += ("nested_loops", "unbounded_counter")
BEYOND_CLP = ("break_and_continue", "deep_bug", "division_checked", "factorial", "fibonacci_bug", "goto_loop")
BEYOND_CLP += ("gcd_by_subtraction", "jump_into_loop", "mutual_recursion", "nested_loops", "parity")
BEYOND_CLP += ("parity_bug", "recursion_depth", "several_results", "sum", "unbounded_counter")
BEYOND_CLP += ("unbounded_counter_bug", "unbounded_lock")

DECIDES: Mapping[str, Callable[[Expected], bool]] = {
    "bmc": lambda program: program.bounded or program.answer == "VIOLATED",
    "kind": lambda program: program.path.stem in INDUCTIVE,
    "predicate": lambda program: program.path.stem not in UNROLLED,
    "linear": lambda program: program.path.stem not in NOT_LINEAR,
    "ranges": lambda program: program.path.stem in WITHIN_RANGES,
    "spacer": lambda program: program.path.stem not in BEYOND_SPACER,
    "clp": lambda program: program.path.stem not in BEYOND_CLP,
    "arrays": lambda program: False,  # the small language has none
}


# Every engine on large blocks; the other sizes are the same for all of them.
RUNS = [(name, "large") for name in ENGINES] + [("bmc", mode) for mode in MODES if mode != "large"]


def answer(engine_name: str, expected: Expected, mode: Mode) -> tuple[Program, Verdict]:
    program = load_lp(expected.path.read_text(), expected.path.name, expected.property_name).program
    engine = ENGINES[engine_name]
    task = Task(program, expected.property_name)
    refusal = engine.unsupported(task)
    if refusal is not None:
        return program, Unknown(refusal)
    prepared, back = LargeBlocks(mode).apply(task)
    options = engine.options(**OPTIONS.get(engine_name, {}))
    try:
        return program, back.verdict(engine.run(prepared, options, Budget(60), Statistics()))
    except BudgetExceeded as limit:
        return program, Unknown(Diagnostic("time-limit", str(limit)))


@pytest.mark.parametrize(("engine", "mode"), RUNS)
@pytest.mark.parametrize("expected", all_expected(), ids=lambda e: e.path.stem)
def test_definite_answers_are_right_and_checked(engine: str, expected: Expected, mode: Mode) -> None:
    program, verdict = answer(engine, expected, mode)
    if isinstance(verdict, Unknown):
        assert not DECIDES[engine](expected), verdict.reason
        return
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    if isinstance(verdict, Safe):
        assert expected.answer == "HOLDS"
        assert isinstance(check, ProofCheck), check
    else:
        assert isinstance(verdict, Unsafe)
        assert isinstance(check, Replay), check
        assert isinstance(verdict.refutation, Trace)
        site = program.error_at(program.location[verdict.refutation.error])
        assert site.span is not None
        assert site.span.line in expected.violated


def test_every_engine_says_what_it_decides() -> None:
    assert set(DECIDES) == set(ENGINES)

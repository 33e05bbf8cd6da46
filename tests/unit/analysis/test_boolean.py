"""Reachability of Boolean programs: states of loops, summaries of procedures, executions to an error."""

from __future__ import annotations

import pytest

from certus.analysis.boolean.reachability import Reachability
from certus.analysis.boolean.states import States
from certus.check.replay.replay import replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.engine import Task
from certus.core.evidence import old
from certus.core.outcome import Replay
from certus.core.program import Program
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks, Mode

FLIP = """
bool g;
void main() { bool a; g = *; a = flip(g); assert(a != g); ASSERTION }
bool flip(bool x) { bool again = *; if (again) { x = flip(x); x = !x; } return !x; }
"""
COUNTER = """
void main() {
    bool a, b;
    a, b = false, false;
    while (!a || !b) { if (!a) { a = true; } else { a, b = false, !b; } }
    assert(CLAIM);
}
"""
DEEP = """
bool error;
void main() { error = false; one(); assert(!error); }
void one() { bool x = *; if (x) { two(x); } }
void two(bool y) { bool z = *; assume(z != y); error = y && !z; }
"""


def reachability(text: str, mode: Mode = "large") -> tuple[Program, Reachability]:
    program = load_lp(text, "program.lp").program
    blocks = LargeBlocks(mode).apply(Task(program))[0].subject
    assert isinstance(blocks, Program)
    return program, Reachability(States(blocks), Budget(60))


@pytest.mark.parametrize("mode", ["single", "large"])
@pytest.mark.parametrize(
    "text",
    [
        COUNTER.replace("CLAIM", "a && !b"),
        FLIP.replace("ASSERTION", "assert(!g);"),
        FLIP.replace("ASSERTION", "assert(a);"),
        DEEP,
    ],
)
def test_an_execution_to_an_error_replays(text: str, mode: Mode) -> None:
    program, reached = reachability(text, mode)
    error = reached.error()
    assert error is not None
    assert isinstance(replay(program, reached.trace(error), budget=Budget(60)), Replay)


@pytest.mark.parametrize("mode", ["single", "large"])
def test_without_an_error_the_states_are_a_fixpoint(mode: Mode) -> None:
    assert reachability(COUNTER.replace("CLAIM", "a && b"), mode)[1].error() is None


def test_a_summary_relates_entry_and_exit() -> None:
    """`flip` negates its parameter, however deep it calls itself: the result is not `x` at the entry."""
    program, reached = reachability(FLIP.replace("ASSERTION", ""))
    assert reached.error() is None
    flip, regions = program.procedures["flip"], reached.states.regions
    (x,), (result,) = flip.parameters, flip.results
    others = [y for y in flip.variables if y is not result]
    summary = regions.without(reached.regions[flip.exit], [*others, *map(old, program.globals)])
    summary = regions.without(summary, program.globals)
    equal = reached.states.meaning(build.eq(result, build.not_(old(x))))
    assert regions.minus(summary, equal) is regions.nothing
    assert summary is not regions.nothing

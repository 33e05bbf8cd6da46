"""Replaying traces and checking executions; planted wrong ones are refused with a reason."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.builders import ProgramBuilder

from certus.check.replay.replay import check_execution, replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Execution, Trace
from certus.core.outcome import Replay
from certus.core.program import Assume, Location, Program
from certus.core.terms import Expr, Value, machine

ONE, TWO, TEN = (build.integer(n) for n in (1, 2, 10))
U8 = machine(8, signed=False)


class Guess:
    """`havoc x; assume x >= 1; y = 10 / (x - 3); if (x == 7) error a; if (g == 2) error b;`"""

    def __init__(self) -> None:
        b = ProgramBuilder()
        self.x, self.y, self.g = b.local("main", "x"), b.local("main", "y"), b.var("g")
        self.havoc = b.edge("main", "entry", "asked", b.havoc(self.x), text="x = *")
        b.edge("main", "asked", "positive", Assume(build.le(ONE, self.x)), text="assume(x >= 1)")
        divided = build.quot(TEN, build.sub(self.x, build.integer(3)))
        b.edge("main", "positive", "divided", b.assign((self.y, divided)), text="y = 10 / (x - 3)")
        self.a: Location = b.check("main", "divided", build.ne(self.x, build.integer(7)), "next")
        self.b: Location = b.check("main", "next", build.ne(self.g, TWO), "exit")
        self.program: Program = b.build()

    def replay(self, error: Location, *values: int, g: int = 0) -> Replay | Diagnostic:
        inputs = {self.havoc.index: tuple((v,) for v in values)}
        return replay(self.program, Trace(error.name, {self.g: g}, inputs), budget=Budget())


def changes_of(checked: Replay) -> list[tuple[int, int, tuple[tuple[Expr, Value], ...]]]:
    return [(step.edge, step.depth, step.changes) for step in checked.kept]


def refused(checked: Replay | Diagnostic) -> tuple[str, str]:
    assert isinstance(checked, Diagnostic)
    return checked.code, checked.message


def test_a_trace_is_replayed_step_by_step() -> None:
    case = Guess()
    checked = case.replay(case.a, 7)
    assert isinstance(checked, Replay)
    assert (checked.steps, len(checked.kept), checked.error) == (4, 4, case.a.name)
    assert changes_of(checked)[:3] == [(0, 0, ((case.x, 7),)), (1, 0, ()), (2, 0, ((case.y, 2),))]


def test_initial_values_are_inputs() -> None:
    case = Guess()
    assert isinstance(case.replay(case.b, 1, g=2), Replay)


def test_another_error_is_no_evidence() -> None:
    case = Guess()
    code, message = refused(case.replay(case.b, 7))
    assert code == "trace-not-replayed"
    assert f"another error, {case.a.name}" in message


def test_a_failing_assumption_is_no_evidence() -> None:
    case = Guess()
    code, message = refused(case.replay(case.a, -7))
    assert code == "trace-not-replayed"
    assert "an assumption fails" in message
    assert "assume(x >= 1)" in message


def test_missing_inputs_are_zero() -> None:
    case = Guess()
    code, message = refused(case.replay(case.a))
    assert code == "trace-not-replayed"
    assert "an assumption fails" in message


def test_an_ordinary_end_is_no_evidence() -> None:
    case = Guess()
    code, message = refused(case.replay(case.a, 5))
    assert code == "trace-not-replayed"
    assert "the main procedure returns" in message


def test_undefined_behaviour_is_no_evidence() -> None:
    case = Guess()
    code, message = refused(case.replay(case.a, 3))
    assert code == "trace-needs-undefined-behaviour"
    assert "y = 10 / (x - 3)" in message


def test_values_must_fit_their_sort() -> None:
    b = ProgramBuilder()
    x = b.local("main", "x", U8)
    edge = b.edge("main", "entry", "after", b.havoc(x))
    error = b.check("main", "after", build.eq(x, build.constant(0, U8)), "exit")
    trace = Trace(error.name, {}, {edge.index: ((256,),)})
    code, message = refused(replay(b.build(), trace, budget=Budget()))
    assert code == "trace-not-replayed"
    assert "256" in message


def test_inputs_must_belong_to_inputs() -> None:
    case = Guess()
    trace = Trace(case.a.name, {}, {2: ((7,),)})
    assert refused(replay(case.program, trace, budget=Budget()))[0] == "trace-not-replayed"


def test_an_endless_run_meets_its_budget() -> None:
    b = ProgramBuilder()
    b.skip("main", "entry", "entry")
    error = b.error("main", "bad")
    with pytest.raises(BudgetExceeded):
        replay(b.build(), Trace(error.name), budget=Budget(0.1))


def test_calls_show_parameters_results_and_depth() -> None:
    b = ProgramBuilder()
    p = b.parameter("f", "p")
    r = b.result("f", "r")
    b.edge("f", "entry", "exit", b.returns(build.add(p, ONE)))
    x = b.local("main", "x")
    b.edge("main", "entry", "after", b.call("f", TWO, into=(x,)))
    error = b.check("main", "after", build.eq(x, ONE), "exit")
    checked = replay(b.build(), Trace(error.name), budget=Budget())
    assert isinstance(checked, Replay)
    three = build.integer(3).value
    assert changes_of(checked)[:2] == [(1, 0, ((p, 2),)), (0, 1, ((r, three), (x, three)))]


def loop(n: int) -> tuple[Program, Location, Expr]:
    b = ProgramBuilder()
    x, s = b.local("main", "x"), b.var("s", initial=0)
    b.edge("main", "entry", "loop", b.assign((x, 0)))
    b.branch("main", "loop", build.lt(x, build.integer(n)), "body", "after")
    b.edge("main", "body", "more", b.assign((x, build.add(x, ONE))))
    b.edge("main", "more", "loop", b.assign((s, build.add(s, x))))
    error = b.check("main", "after", build.eq(s, build.integer(0)), "exit")
    return b.build(), error, x


@pytest.mark.parametrize("keep", [1, 7, 400])
def test_long_runs_keep_their_ends(keep: int) -> None:
    program, error, _ = loop(1000)
    whole = replay(program, Trace(error.name), budget=Budget(), keep=10_000)
    part = replay(program, Trace(error.name), budget=Budget(), keep=keep)
    assert isinstance(whole, Replay)
    assert isinstance(part, Replay)
    assert [step.number for step in whole.kept] == list(range(whole.steps))
    between = [s.number for s in whole.kept[keep:-keep] if s.reason is not None][-keep:]
    ends = range(keep), range(part.steps - keep, part.steps)
    assert [step.number for step in part.kept] == [*ends[0], *between, *ends[1]]
    assert part.kept[:keep] == whole.kept[:keep]
    assert [s.edge for s in part.kept[-keep:]] == [s.edge for s in whole.kept[-keep:]]
    assert part.kept[-keep // 2 :] == whole.kept[-keep // 2 :]


@pytest.mark.no_cover
def test_a_million_iterations_replay_in_seconds() -> None:
    program, error, x = loop(1_000_000)
    start = time.process_time()
    checked = replay(program, Trace(error.name), budget=Budget())
    assert isinstance(checked, Replay)
    assert checked.steps == 3_000_003
    assert (x, 1_000_000) in [change for step in checked.kept for change in step.changes]
    assert time.process_time() - start < 20


def test_the_one_run_of_a_program_without_inputs_is_a_proof() -> None:
    b = ProgramBuilder()
    x, unused = b.local("main", "x"), b.var("unused")
    b.edge("main", "entry", "loop", b.assign((x, 0)))
    b.branch("main", "loop", build.lt(x, TEN), "body", "after")
    b.edge("main", "body", "loop", b.assign((x, build.add(x, ONE))))
    b.edge("main", "after", "last", b.assign((b.var("copy"), unused)))
    b.check("main", "last", build.eq(x, TEN), "exit")
    assert check_execution(b.build(), Execution(24), Budget()) is None


def nondeterministic(kind: str) -> Program:
    b = ProgramBuilder()
    x = b.var("x") if kind == "global" else b.local("main", "x")
    if kind == "input":
        b.edge("main", "entry", "read", b.havoc(x))
    else:
        b.skip("main", "entry", "read")
    target = b.var("y", initial=0)
    b.edge("main", "read", "passed", b.assign((target, x)))
    b.branch("main", "passed", build.eq(target, TEN), "one", "other")
    b.skip("main", "one", "exit")
    b.skip("main", "other", "exit")
    return b.build()


@pytest.mark.parametrize("kind", ["global", "local", "input"])
def test_a_run_that_looks_at_an_input_is_no_proof(kind: str) -> None:
    checked = check_execution(nondeterministic(kind), Execution(4), Budget())
    assert checked is not None
    assert checked.code == "execution-not-confirmed"
    assert "x" in checked.message


def test_a_run_into_an_error_is_no_proof() -> None:
    program, error, _ = loop(10)
    checked = check_execution(program, Execution(33), Budget())
    assert checked is not None
    assert error.name in checked.message


def test_undefined_behaviour_is_no_proof() -> None:
    b = ProgramBuilder()
    x = b.var("x", initial=0)
    b.edge("main", "entry", "exit", b.assign((x, build.quot(ONE, x))))
    checked = check_execution(b.build(), Execution(1), Budget())
    assert checked is not None
    assert checked.code == "execution-not-confirmed"


SCRIPT = """
from certus.core.accounting import Budget
from certus.core.evidence import Inductive, Trace
from certus.check.proofs.random_runs import challenge
from certus.check.replay.replay import replay
from tests.unit.check.replay.test_replay import Guess
case = Guess()
print(case.replay(case.a, 7))
result = challenge(case.program, Inductive({}), seed=5)
print(result.contradiction, result.trace, result.reached, result.runs)
"""


def test_the_same_under_any_hash_seed() -> None:
    root = Path(__file__).parents[4]
    path = os.pathsep.join((str(root / "src"), str(root)))
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    ]
    assert outputs[0].strip()
    assert outputs == [outputs[0]] * 3

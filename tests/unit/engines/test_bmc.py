"""Bounded model checking: shortest counterexamples, bounds that mean the same whatever the blocks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from certus.check.replay.replay import replay
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task, apply_passes
from certus.core.evidence import Safe, Trace, Unknown, Unrolling, Unsafe, Verdict
from certus.core.loops import LoopBound
from certus.core.outcome import Replay
from certus.core.program import Program
from certus.engines.bmc import BoundedModelChecking, Options
from certus.frontend.lp.load import load_lp
from certus.passes.bounds import Bounds
from certus.passes.constants import Constants
from certus.passes.inline import Inline
from certus.passes.large_blocks import MODES, LargeBlocks, Mode
from certus.passes.slice import Slice


def run(text: str, mode: Mode = "large", bound: int = 0) -> tuple[Program, Verdict]:
    program = load_lp(text, "test.lp").program
    task, back = LargeBlocks(mode).apply(Task(program))
    verdict = BoundedModelChecking().run(task, Options(bound=bound), Budget(60), Statistics())
    return program, back.verdict(verdict)


def replayed(text: str, mode: Mode) -> Replay:
    program, verdict = run(text, mode)
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Trace)
    result = replay(program, verdict.refutation, budget=Budget(10))
    assert isinstance(result, Replay), result
    return result


LATE = """
void main() {
  int x = 0; int n = *;
  while (x < n) { x = x + 1; }
  assert(x != 7);
}
"""


@pytest.mark.parametrize("mode", MODES)
def test_a_counterexample_replays(mode: Mode) -> None:
    result = replayed(LATE, mode)
    assert sum(1 for step in result.kept if step.changes and step.changes[0][1] == 7) >= 1


@pytest.mark.parametrize("mode", MODES)
def test_the_counterexample_with_the_least_bound_comes_first(mode: Mode) -> None:
    text = """
    void main() {
      int x = 0; int bad = 0;
      while (*) { x = x + 1; if (*) { bad = 1; } assert(x < 9); assert(!(bad == 1 && x == 6)); }
    }
    """
    program, verdict = run(text, mode)
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Trace)
    assert program.error_at(program.location[verdict.refutation.error]).text.count("bad")


@pytest.mark.parametrize("mode", MODES)
def test_among_equal_bounds_the_fewest_statements_win(mode: Mode) -> None:
    text = """
    void main() {
      int x = *; int y = 0;
      if (x > 0) { y = 1; y = 2; y = 3; y = 4; y = 5; y = 6; } else { y = 6; }
      assert(y != 6);
    }
    """
    assert replayed(text, mode).steps == min(replayed(text, other).steps for other in MODES)
    assert all(
        value != 1 for step in replayed(text, mode).kept for x, value in step.changes if x.name == "main.y"
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("bound", "fails"), [(3, False), (4, True)])
def test_the_bound_counts_entries_of_the_loop_head(mode: Mode, bound: int, fails: bool) -> None:
    """Three iterations enter the head four times."""
    text = "void main() { int x = 0; while (x < 3) { x = x + 1; } assert(x != 3); }"
    _, verdict = run(text, mode, bound)
    if fails:
        assert isinstance(verdict, Unsafe)
    else:
        assert isinstance(verdict, Unknown)
        assert verdict.reason.code == "bound-reached"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("bound", "fails"), [(3, False), (4, True)])
def test_the_bound_counts_simultaneous_activations(mode: Mode, bound: int, fails: bool) -> None:
    text = """
    int n = 0;
    void down(int k) { n = n + 1; if (k > 0) { down(k - 1); } }
    void main() { int k = *; assume(k >= 0); down(k); assert(n < 4); }
    """
    _, verdict = run(text, mode, bound)
    assert isinstance(verdict, Unsafe if fails else Unknown)


@pytest.mark.parametrize("mode", MODES)
def test_complete_when_no_execution_is_longer(mode: Mode) -> None:
    text = """
    void main() {
      int i = 0; int n = *; int j = 0;
      assume(0 <= n && n <= 4);
      while (i < n) { j = 0; while (j < 2) { j = j + 1; } i = i + 1; }
      assert(i == n);
    }
    """
    program, verdict = run(text, mode)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Unrolling)
    assert sorted(verdict.proof.loops.values()) == [3, 5]
    assert set(verdict.proof.loops) <= set(program.location)


@pytest.mark.parametrize("mode", MODES)
def test_mutual_recursion_and_results(mode: Mode) -> None:
    text = """
    bool even(int n) { bool r; if (n == 0) { return true; } r = odd(n - 1); return r; }
    bool odd(int n) { bool r; if (n == 0) { return false; } r = even(n - 1); return r; }
    void main() { int n = *; bool r; assume(0 <= n && n <= 6); r = even(n); assert(r == (n / 2 * 2 == n)); }
    """
    _, verdict = run(text, mode)
    assert isinstance(verdict, Safe)
    assert verdict.proof == Unrolling({}, {"even": 4, "odd": 3})


def test_a_loop_entered_in_the_middle() -> None:
    text = """
    void main() {
      int x = 0; int y = 0;
      if (*) { goto middle; }
      top: x = x + 1;
      middle: y = y + 1;
      if (x < 3 && *) { goto top; }
      assert(y <= x + %d);
    }
    """
    for mode in MODES:
        assert isinstance(run(text % 1, mode)[1], Safe)
        assert isinstance(run(text % 0, mode)[1], Unsafe)


def test_inputs_are_in_the_order_of_execution() -> None:
    text = """
    void main() {
      int i = 0; int s = 0; int d;
      while (i < 3) { d = *; assume(d > 10 * i && d < 10 * i + 5); s = s + d; i = i + 1; }
      assert(s != 41);
    }
    """
    for mode in MODES:
        replayed(text, mode)


# ------------------------------------------------------------------------------- loops that count


def counted(
    text: str, bound: int = 0, bounds: dict[str, LoopBound] | None = None
) -> tuple[Verdict, Statistics]:
    """Return the answer with the computed bounds of loops, or with `bounds`."""
    task = Task(load_lp(text, "test.lp").program)
    passes = [Constants(), Slice(), Inline(), Bounds()]
    task, _, _ = apply_passes(task, passes)
    if bounds is not None:
        task = replace(task, bounds=bounds)
    task, _ = LargeBlocks().apply(task)
    statistics = Statistics()
    return BoundedModelChecking().run(task, Options(bound=bound), Budget(60), statistics), statistics


COUNTING = """
void main() {
  int i = 0; int x = *; int s = 0;
  while (i < 120) { if (x > i) { s = s + 1; } i = i + 1; }
  assert(s <= 120);
}
"""


def test_a_counting_loop_is_unrolled_to_its_end_at_once() -> None:
    verdict, statistics = counted(COUNTING)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Unrolling)
    assert list(verdict.proof.loops.values()) == [121]
    assert statistics.counters["bmc.bound"] == 2
    assert statistics.counters["solver.bmc.complete"] == 1


def test_the_bound_asked_for_holds_for_counting_loops_too() -> None:
    verdict, _ = counted(COUNTING, bound=40)
    assert isinstance(verdict, Unknown)
    assert "121 times" in verdict.reason.message
    assert verdict.reason.hint == "try --bound 121"


def test_the_least_bound_comes_first_in_a_counting_loop() -> None:
    """The counterexample with the fewest statements goes twice round, that with the least bound once."""
    text = """
    void main() {
      int i = 0; int s = 0; int c = *;
      while (i < 40) {
        if (c == 1) { s = s + 1; s = s - 1; s = s + 1; s = s - 1; s = s + 1; s = s - 1; s = s + 1; }
        assert(!(c == 1 && i >= 1 && s >= 1)); assert(!(c == 2 && i >= 2)); i = i + 1;
      }
    }
    """
    program = load_lp(text, "test.lp").program
    verdict, statistics = counted(text)
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Trace)
    assert "c == 1" in program.error_at(program.location[verdict.refutation.error]).text
    assert statistics.counters["bmc.bound"] <= 2


@pytest.mark.parametrize("entries", [2, 60])
def test_wrong_bounds_cost_time_but_no_answer(entries: int) -> None:
    program = load_lp(COUNTING.replace("120", "9"), "test.lp").program
    heads = [at.name for at in program.procedures["main"].locations if at.loop is not None]
    wrong = {name: LoopBound(entries, exact=True) for name in heads}
    verdict, _ = counted(COUNTING.replace("120", "9"), bounds=wrong)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Unrolling)
    assert all(times >= 10 for times in verdict.proof.loops.values())

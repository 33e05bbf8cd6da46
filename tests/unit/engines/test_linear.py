"""The engine `linear`: the functions of seed 000 as corrected, what is accelerated, and what it refuses."""

from __future__ import annotations

import pytest

from certus.core.budget import Budget
from certus.core.evidence import Execution, Inductive, Trace
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Call, Program
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.engines.linear import LinearReachability, Options
from certus.engines.linear.acceleration import Acceleration
from certus.engines.linear.edges import Store, lift, se_join, self_loop
from certus.engines.linear.index import Meeting
from certus.engines.linear.tabulation import Tabulation
from certus.engines.linear.transitions import Transitions
from certus.frontend.lp.library import FAMILIES
from certus.frontend.lp.library import program as library
from certus.frontend.lp.load import load_lp
from certus.logic.relations import Relations
from certus.pipeline.confirm import examine
from certus.transform.large_blocks import LargeBlocks

SYMBOLIC = [name for name, family in FAMILIES.items() if family.symbolic]


def loaded(text: str) -> Program:
    return load_lp(text, "test.lp").program


def answered(text: str, **options: int) -> tuple[Verdict, Statistics]:
    """The verdict, after its evidence was checked."""
    program, statistics = loaded(text), Statistics()
    task, back = LargeBlocks("large").apply(Task(program))
    verdict = back.verdict(LinearReachability().run(task, Options(**options), Budget(60), statistics))
    if not isinstance(verdict, Unknown):
        check = examine(program, verdict, budget=Budget(60), statistics=statistics)
        assert isinstance(check, Replay if isinstance(verdict, Unsafe) else ProofCheck), check
    return verdict, statistics


def searched(text: str) -> Tabulation:
    """The search by enumeration, at its end."""
    program = loaded(text)
    transitions = Transitions(program, Relations(Statistics(), Budget(60)))
    search = Tabulation(transitions, Acceleration(transitions))
    while search.worklist:
        search.step(search.pick(search.worklist))
    return search


# ------------------------------------------------------------------- the misprints of the paper

CALLS = """
int g;
void add(int k) { g = g + k; }
void main() { int z = *; g = 10; add(3); assert(g == 13); }
"""


def test_self_loop_relates_outputs_to_themselves() -> None:
    search = searched(CALLS)
    entry = search.paths[search.transitions.frames["add"].procedure.entry].whole()
    assert entry.columns((0, 1), (0, 1)).entails(search.transitions.relations.identity(2))
    moved = search.paths[search.transitions.frames["add"].procedure.exit].whole()
    assert not moved.columns((0, 1), (0, 1)).entails(search.transitions.relations.identity(2))
    looped = self_loop(moved.columns((0, 1), (0, 1)))
    assert looped.fixing({0: 13, 1: 3}, {}).pair() == ((13, 3), (13, 3))
    assert looped.fixing({0: 10}, {}).is_empty()


def test_summaries_apply_to_the_values_at_the_call() -> None:
    search = searched(CALLS)
    frames = search.transitions.frames
    edge = next(e for e in frames["main"].procedure.edges if isinstance(e.op, Call))
    at_call = search.paths[edge.source].whole()
    sigma = lift(search.paths[frames["add"].procedure.exit].whole(), frames["add"])
    assert sigma.pair() == ((10, 3), (13,))
    column = frames["main"].state.index(frames["main"].entry[0])
    after = se_join(at_call, sigma, edge, search.transitions)
    assert not after.fixing({}, {column: 13}).is_empty()
    assert after.fixing({}, {column: 10}).is_empty()


def test_a_call_is_entered_and_its_summary_used_whatever_comes_first() -> None:
    """The second value arrives at the call when the callee has been summarised for the first one."""
    text = """
    int g;
    void twice() { g = g + g; }
    void main() {
        int i = 1;
        while (i <= 3) { g = i; twice(); assert(g == i + i); i = i + 1; }
        assert(g == 6);
    }
    """
    for accelerate in (0, 1):
        verdict, _ = answered(text, accelerate=accelerate)
        assert isinstance(verdict, Safe)


# ------------------------------------------------------------------------------- the library


@pytest.mark.parametrize("family", SYMBOLIC)
def test_families_hold_for_every_number_at_once(family: str) -> None:
    verdict, statistics = answered(library(family, None), steps=50)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Inductive)
    assert statistics.counters["linear.closures"] > 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("accelerate", [0, 1])
def test_instances_hold_and_buggy_ones_fail(family: str, accelerate: int) -> None:
    right, _ = answered(library(family, 4), accelerate=accelerate)
    assert isinstance(right, Safe)
    wrong, _ = answered(library(family, 4, buggy=True), accelerate=accelerate)
    assert isinstance(wrong, Unsafe)


def test_a_procedure_is_summarised_at_most_twice_however_often_it_is_called() -> None:
    search = searched(library("swap_seq", 30))
    assert 1 <= len(search.summaries["swap"]) <= 2


def test_a_long_run_without_inputs_is_its_own_evidence() -> None:
    verdict, statistics = answered(library("sum", 400))
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Execution)
    assert statistics.counters["linear.joins"] < 5 * 400
    failed, _ = answered(library("sum", 400, buggy=True))
    assert isinstance(failed, Unsafe)
    assert isinstance(failed.refutation, Trace)


def test_deep_recursion_joins_each_summary_with_its_own_calls() -> None:
    joins = []
    for number in (40, 80):
        failed, statistics = answered(library("parity", number, buggy=True))
        assert isinstance(failed, Unsafe)
        joins.append(statistics.counters["linear.joins"])
    assert joins[1] < 3 * joins[0]


def test_what_agrees_on_the_columns_both_fix_is_found() -> None:
    index: Meeting[str] = Meeting()
    index.add((1, None, 3), "a")
    index.add((1, 2, None), "b")
    assert list(index.agreeing((1, 2, 3))) == ["a", "b"]
    assert list(index.agreeing((None, 5, 3))) == ["a"]
    index.add((2, None, 3), "c")
    assert list(index.agreeing((None, 5, 3))) == ["a", "c"]
    assert list(index.agreeing((None, None, None))) == ["a", "c", "b"]
    assert list(index.agreeing((3, None, None))) == []
    assert len(index) == 3


# ------------------------------------------------------------------------------- integers, limits


def test_integers_are_integers() -> None:
    even_and_odd = "assume(x == 2 * a && x == 2 * b + 1);"
    verdict, _ = answered(f"void main() {{ int x = *; int a = *; int b = *; {even_and_odd} assert(false); }}")
    assert isinstance(verdict, Safe)


def test_widening_proves_what_does_not_accelerate() -> None:
    text = """
    void main() {
        int x = 0, y = 0;
        while (x < 1000000) { bool c = *; if (c) { x, y = x + y + 1, y + 1; } else { x = x + 1; } }
        assert(y >= 0);
    }
    """
    verdict, _ = answered(text, patience=10)
    assert isinstance(verdict, Safe)
    unknown, _ = answered(text, patience=10, widen=0, steps=20)
    assert isinstance(unknown, Unknown)
    assert unknown.reason.code == "steps-reached"
    assert "line 4" in unknown.reason.message


def test_products_of_variables_prove_but_do_not_refute() -> None:
    proved, _ = answered("void main() { int x = *; int y = x * x; assert(y == x * x); }")
    assert isinstance(proved, Safe)
    unknown, _ = answered("void main() { int x = *; int y = x * x; assert(y != 49); }")
    assert isinstance(unknown, Unknown)
    assert unknown.reason.code == "not-linear"


def test_a_block_with_too_many_ways_is_refused() -> None:
    choices = "".join(f"bool c{i} = *; if (c{i}) {{ x = x + {2**i}; }} " for i in range(9))
    unknown, _ = answered(f"void main() {{ int x = 0; {choices} assert(x >= 0); }}")
    assert isinstance(unknown, Unknown)
    assert unknown.reason.code == "too-many-paths"


def test_a_store_finds_what_is_entailed_by_what_is_fixed() -> None:
    relations = Relations(Statistics(), Budget(60))
    search = searched("void main() { int i = 0; while (i < 3) { i = i + 1; } assert(i == 3); }")
    head = next(s for s in search.paths.values() if len(s.edges) > 2)
    assert isinstance(head, Store)
    first = head.edges[0].relation
    assert head.covers(first)
    elsewhere = first.columns((), range(len(search.transitions.frames["main"].state)))
    assert not Store(relations, 0, 1).covers(elsewhere)


def test_findings_are_both_kinds_of_edges_and_what_is_unreachable() -> None:
    text = """
    int d;
    void delay(int m) { d = 0; while (d < m) { d = d + 1; } }
    void main() {
        int n = *;
        assume(n >= 0);
        delay(n);
        if (d > n) { d = 7; }
        assert(d == n);
    }
    """
    _, statistics = answered(text)
    found = {(finding.kind, finding.place): finding.text for finding in statistics.findings}
    assert found["summary edges", "procedure delay"] == "d - old(m) == 0 && old(m) >= 0"
    assert found["unreachable", "line 8"] == "d = 7;"
    assert [place for kind, place in found if kind == "unreachable"] == ["line 8"]
    heads = [words for (kind, place), words in found.items() if kind == "path edges" and "loop" in place]
    assert len(heads) == 1
    assert "old(m) - d >= 0" in heads[0]

"""The engine `linear`: the corrected functions of Armando et al. 2004, acceleration, and refusals."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builders import ProgramBuilder

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Execution, Inductive, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Assume, Call, Program
from certus.core.terms import INT, machine
from certus.engines.linear import LinearReachability, Options
from certus.engines.linear.acceleration import Acceleration
from certus.engines.linear.edges import Store, VectorIndex, lift, se_join, self_loop
from certus.engines.linear.tabulation import Tabulation
from certus.engines.linear.transitions import Transitions, after
from certus.engines.linear.widening import SIZE, Widening, packs
from certus.frontend.lp.library import FAMILIES
from certus.frontend.lp.library import program as library
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks
from certus.run.publish import examine
from certus.run.sharing import checked_ranges
from certus.solvers.isl.presburger import TooHard
from certus.solvers.isl.relations import LOST, Relation, Relations

SYMBOLIC = [name for name, family in FAMILIES.items() if family.symbolic]


def loaded(text: str) -> Program:
    return load_lp(text, "test.lp").program


def answered(text: str, *, ranges: bool = False, **options: int) -> tuple[Verdict, Statistics]:
    """The verdict, after its evidence was checked; `ranges` are facts to rely on."""
    program, statistics = loaded(text), Statistics()
    facts = checked_ranges(program, Budget(60), statistics) if ranges else {}
    task, back = LargeBlocks("large").apply(Task(program, facts=facts))
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
    index: VectorIndex[str] = VectorIndex()
    index.add((1, None, 3), "a")
    index.add((1, 2, None), "b")
    assert list(index.agreeing((1, 2, 3))) == ["a", "b"]
    assert list(index.agreeing((None, 5, 3))) == ["a"]
    index.add((2, None, 3), "c")
    assert list(index.agreeing((None, 5, 3))) == ["a", "c"]
    assert list(index.agreeing((None, None, None))) == ["a", "c", "b"]
    assert list(index.agreeing((3, None, None))) == []
    assert len(index) == 3


def phases(relations: Relations) -> Relation:
    """x grows up to 5 by one, then up to 20 by two, then up to 30 by three."""
    x = build.var("x", INT)
    parts = [
        relations.of(
            [
                build.le(build.integer(low), x),
                build.lt(x, build.integer(high)),
                build.eq(after(x), build.add(x, build.integer(step))),
            ],
            (x,),
            (after(x),),
        )
        for step, (low, high) in enumerate(((0, 5), (5, 20), (20, 30)), start=1)
    ]
    return parts[0].union(parts[1]).union(parts[2])


def test_closures_may_be_computed_apart() -> None:
    here = phases(Relations(Statistics(), Budget(60))).closure()
    asked: list[bytes] = []

    def apart(compute: Callable[[], bytes]) -> bytes:
        asked.append(compute())
        return asked[-1]

    computed = phases(Relations(Statistics(), Budget(60), apart)).closure()
    assert asked
    assert computed.exact == here.exact
    for low in range(-1, 32):
        for high in range(-1, 34):
            pair = ({0: low}, {0: high})
            assert computed.fixing(*pair).is_empty() == here.fixing(*pair).is_empty()


def test_after_some_closures_without_end_no_more_are_waited_for() -> None:
    asked: list[None] = []
    relations = Relations(Statistics(), Budget(60), lambda compute: asked.append(None))
    for _ in range(2 * LOST):
        with pytest.raises(TooHard):
            phases(relations).closure()
    assert len(asked) == LOST


def test_a_step_that_is_too_hard_stays_to_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the search would go on without it, and take the states behind it for unreachable."""
    program = loaded("void main() { int x = *; assert(x > 0); }")
    transitions = Transitions(program, Relations(Statistics(), Budget(60)))
    search = Tabulation(transitions, Acceleration(transitions))

    def too_hard(self: Tabulation, at: object) -> None:
        raise TooHard

    with monkeypatch.context() as patched:
        patched.setattr(Tabulation, "step", too_hard)
        with pytest.raises(TooHard):
            search.run(10, Budget(60))
    assert search.run(10, Budget(60))
    assert search.errors


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


DISJUNCTIVE = """
void main() {
    int n = *; int y = *; int x = 1;
    while (x <= n) { y = n - x; x = x + 1; }
    if (n > 0) { assert(y >= 0); }
}
"""
RELATED = """
void main() {
    int i = 0, x = 0, y = 0;
    int n = *;
    assume(n >= 0);
    while (i < n) {
        bool c = *;
        if (c) { x = x + 1; y = y + 2; } else { x = x + 2; y = y + 1; }
        i = i + 1;
    }
    assert(3 * n == x + y);
}
"""


@pytest.mark.parametrize("text", [DISJUNCTIVE, RELATED], ids=["what comes in and what comes back", "sums"])
def test_widening_alone_proves(text: str) -> None:
    verdict, statistics = answered(text, patience=5, accelerate=0)
    assert isinstance(verdict, Safe)
    assert statistics.counters["linear.widenings"] > 0


def test_widening_stops_at_the_ranges_that_are_known() -> None:
    text = """
    void check(int v) { assert(v <= 1004); }
    void main() {
        int x = 0, z = 0;
        bool more = *;
        while (more) {
            int y = *;
            assume(0 <= y && y <= 5);
            if (x < 1000) { x = x + y; z = z + x; }
            more = *;
        }
        check(x);
    }
    """
    unknown, _ = answered(text, patience=10, steps=30, accelerate=0)
    assert isinstance(unknown, Unknown)
    verdict, _ = answered(text, ranges=True, patience=10, steps=30, accelerate=0)
    assert isinstance(verdict, Safe)


def counters(number: int) -> str:
    """Counters that have nothing to do with each other, one of which is increased in each round."""
    names = range(number)
    branches = " else ".join(f"if (c == {i} && x{i} < {100 + i}) {{ x{i} = x{i} + 1; }}" for i in names)
    return f"""
    void main() {{
        int {", ".join(f"x{i} = 0" for i in names)};
        bool more = *;
        while (more) {{ int c = *; {branches} more = *; }}
        assert({" && ".join(f"0 <= x{i} && x{i} <= {100 + i}" for i in names)});
    }}
    """


def widened(text: str, size: int) -> Tabulation:
    """Run a search with widening in packs of `size` variables."""
    task, _ = LargeBlocks("large").apply(Task(loaded(text)))
    assert isinstance(task.subject, Program)
    transitions = Transitions(task.subject, Relations(Statistics(), Budget(60)))
    search = Tabulation(transitions, Acceleration(transitions), Widening(transitions, size))
    assert search.run(1000, Budget(60))
    return search


def test_counters_of_their_own_are_widened_on_their_own() -> None:
    apart, together = (widened(counters(6), size) for size in (SIZE, 100))
    assert not apart.worklist
    assert not apart.errors
    assert together.errors or together.length > apart.length


def test_variables_are_packed_with_those_they_have_to_do_with() -> None:
    text = "".join(f"x{i} = x{i + 1}; " for i in range(8))
    program = loaded(
        f"void main() {{ int {', '.join(f'x{i} = *' for i in range(9))}, y = *; {text} y = 2 * y; }}"
    )
    transitions = Transitions(program, Relations(Statistics(), Budget(60)))
    computed = [
        [x.name.removeprefix("main.") for x in pack]
        for pack in packs(transitions.frames["main"], transitions)
    ]
    assert computed[:2] == [["x1", "x2", "x3", "x4", "x5"], ["x6", "x7", "x8"]]
    assert ["y"] in computed
    assert ["x5", "x6"] in computed


def test_machine_integers_are_integers_where_ranges_exclude_that_they_wrap() -> None:
    b = ProgramBuilder()
    x = b.local("main", "x", machine(32, signed=True))
    zero, one, ten = (build.constant(n, x.sort) for n in (0, 1, 10))
    b.edge("main", "entry", "head", b.assign((x, zero)))
    b.edge("main", "head", "body", Assume(build.ne(x, ten)))
    b.edge("main", "body", "head", b.assign((x, build.add(x, one))))
    b.edge("main", "head", "exit", Assume(build.eq(x, ten)))
    task, _ = LargeBlocks("large").apply(Task(b.build()))
    assert isinstance(task.subject, Program)
    round_ = next(e for e in task.subject.procedures["main"].edges if e.source is e.target)
    fact = build.and_(build.le(zero, x), build.le(x, ten))
    relations = Relations(Statistics(), Budget(60))
    plain, restricted = (Transitions(task.subject, relations, facts) for facts in ({}, {round_.source: fact}))
    number, later = build.to_int(x), build.to_int(after(x))
    grows = relations.of([build.eq(later, build.add(number, build.integer(1)))], (x,), (after(x),))
    assert not plain.step(round_).entails(grows)
    assert restricted.step(round_).entails(grows)
    assert restricted.step(round_).closure().exact


def test_products_of_variables_are_arbitrary() -> None:
    proved, _ = answered("void main() { int x = *; int y = x * x; assert(y == x * x); }")
    assert isinstance(proved, Safe)
    unknown, _ = answered("void main() { int x = *; int y = x * x; assert(y != 48); }")
    assert isinstance(unknown, Unknown)
    assert unknown.reason.code == "not-linear"
    assert unknown.reason.message.endswith("such as x * x")
    assert unknown.reason.span is not None


def decisions(number: int, base: int, claim: str) -> str:
    """A program with independent decisions, each of which adds a power of `base`."""
    each = "".join(f"bool c{i} = *; if (c{i}) {{ x = x + {base**i}; }} " for i in range(number))
    return f"void main() {{ int x = 0; {each} assert({claim}); }}"


def test_a_block_with_many_paths_is_a_product_of_factors() -> None:
    proved, _ = answered(decisions(12, 2, "0 <= x && x < 4096"))
    assert isinstance(proved, Safe)
    failed, _ = answered(decisions(12, 2, "x != 1365"))
    assert isinstance(failed, Unsafe)


def test_independent_locks_do_not_multiply() -> None:
    number = 12
    numbers = range(number)
    start = "".join(f"int p{i} = 0, k{i} = 0; " for i in numbers)
    body = "".join(f"p{i} = *; k{i} = 0; if (p{i} != 0) {{ k{i} = 1; }} " for i in numbers)
    checks = "".join(f"if (p{i} != 0) {{ assert(k{i} == 1); k{i} = 0; }} " for i in numbers)
    text = f"void main() {{ {start} while (*) {{ {body} {checks} }} }}"
    proved, statistics = answered(text)
    assert isinstance(proved, Safe)
    assert statistics.counters["linear.disjuncts"] < 4
    bug = text.replace(f"if (p{number - 1} != 0) {{ k", f"if (p{number - 1} > 0) {{ k")
    failed, _ = answered(bug)
    assert isinstance(failed, Unsafe)


def test_a_block_with_too_many_disjuncts_is_refused() -> None:
    unknown, _ = answered(decisions(12, 3, "x >= 0"))
    assert isinstance(unknown, Unknown)
    assert unknown.reason.code == "too-many-disjuncts"


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
    computed = {(finding.kind, finding.place): finding.text for finding in statistics.findings}
    assert computed["summary edges", "procedure delay"] == "d == old(m) && old(m) >= 0"
    assert computed["unreachable", "line 8"] == "d = 7;"
    assert [place for kind, place in computed if kind == "unreachable"] == ["line 8"]
    heads = [text for (kind, place), text in computed.items() if kind == "path edges" and "loop" in place]
    assert len(heads) == 1
    assert "d <= old(m)" in heads[0]

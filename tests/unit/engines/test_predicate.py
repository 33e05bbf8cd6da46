"""Predicate abstraction: proofs and counterexamples that check, precision, summaries, limits."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from examples.locks import locks

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Inductive, Point, Safe, Unknown, Unsafe, Verdict, old
from certus.core.horn import HornSystem
from certus.core.loops import loop_forest
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Program
from certus.core.terms import BOOL, INT, Expr
from certus.core.walk import variables
from certus.engines.predicate import Options, PredicateAbstraction
from certus.engines.predicate.abstraction import Abstraction, Precision, joint, within
from certus.engines.predicate.engine import usable_facts
from certus.engines.predicate.steps import Step, steps_of
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import MODES, LargeBlocks, Mode
from certus.run.publish import examine
from certus.run.settings import Settings
from certus.run.verify import verify
from certus.solvers.bdd import Regions


def run(text: str, mode: Mode = "large", options: Options | None = None) -> tuple[Verdict, Statistics]:
    """The verdict, after its evidence has been checked."""
    program = load_lp(text, "test.lp").program
    task, back = LargeBlocks(mode).apply(Task(program))
    statistics = Statistics()
    verdict = back.verdict(PredicateAbstraction().run(task, options or Options(), Budget(60), statistics))
    if not isinstance(verdict, Unknown):
        check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
        assert isinstance(check, ProofCheck if isinstance(verdict, Safe) else Replay), check
    return verdict, statistics


COUNTERS = """
void main() {
  int x = 0, y = 0;
  while (*) { x, y = x + 1, y + 2; }
  assert(y == 2 * x);
}
"""


@pytest.mark.parametrize("mode", MODES)
def test_a_relation_between_counters_is_found(mode: Mode) -> None:
    verdict, statistics = run(COUNTERS, mode)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Inductive)
    assert statistics.counters["predicate.refinements"] >= 1


def test_predicates_belong_to_locations() -> None:
    text = """
    void main() {
      int x = 0, y = 0;
      while (*) { x = 1 - x; assert(x == 0 || x == 1); }
      while (*) { y = 1 - y; assert(y == 0 || y == 1); }
    }
    """
    verdict, _ = run(text)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Inductive)
    spoken = [{x.name for x in variables(f)} for f in verdict.proof.invariants.values()]
    assert {"main.y"} in spoken  # at the second loop x no longer matters


@pytest.mark.parametrize("mode", MODES)
def test_a_counterexample_in_a_later_round_is_found(mode: Mode) -> None:
    verdict, _ = run("void main() { int x = 0; while (*) { x = x + 1; assert(x != 3); } }", mode)
    assert isinstance(verdict, Unsafe)


def test_an_error_that_only_dead_code_reaches_needs_no_predicates() -> None:
    verdict, statistics = run("void main() { int x = 1; if (x > 1) { assert(false); } }")
    assert isinstance(verdict, Safe)
    assert statistics.counters["predicate.predicates"] == 0


# ------------------------------------------------------------------------------------- procedures


def test_a_summary_relates_entry_and_exit() -> None:
    text = """
    int up(int n) { return n + 1; }
    void main() { int a = *; int b = up(a); int c = up(b); assert(c == a + 2); }
    """
    verdict, _ = run(text)
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, Inductive)
    assert {"old(up.n)", "up.$result0"} <= {x.name for x in variables(verdict.proof.summaries["up"])}


def test_unbounded_recursion() -> None:
    text = """
    int count(int n) { if (n <= 0) return 0; int c = count(n - 1); return c + 1; }
    void main() { int n = *; assume(n >= 0); int c = count(n); assert(c == n); }
    """
    verdict, _ = run(text)
    assert isinstance(verdict, Safe)


def test_locals_of_a_caller_survive_the_call_of_itself() -> None:
    text = """
    int f(int n) { int mine = n; if (n > 0) { int x = f(n - 1); } return mine; }
    void main() { int n = *; int r = f(n); assert(r == n); }
    """
    verdict, _ = run(text)
    assert isinstance(verdict, Safe)


def test_an_error_inside_a_callee_depends_on_the_call() -> None:
    text = """
    void check(int n) {{ assert(n > 0); }}
    void main() {{ int n = *; if (n > {bound}) {{ check(n); }} }}
    """
    safe, _ = run(text.format(bound=0))
    assert isinstance(safe, Safe)
    unsafe, _ = run(text.format(bound=-1))
    assert isinstance(unsafe, Unsafe)


def test_a_counterexample_through_calls_replays() -> None:
    text = """
    int x;
    int twice(int n) { int got = *; x = x + got; return n + n; }
    void main() { x = 0; int a = twice(3); a = twice(a); assert(!(a == 12 && x == 5)); }
    """
    verdict, _ = run(text)
    assert isinstance(verdict, Unsafe)


def test_globals_have_their_values_at_the_start() -> None:
    verdict, _ = run("int g = 4; void f() { g = g + 1; } void main() { f(); f(); assert(g == 6); }")
    assert isinstance(verdict, Safe)
    verdict, _ = run("int g; void main() { assert(g != 9); }")
    assert isinstance(verdict, Unsafe)


# ------------------------------------------------------------------------------------------ locks


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("variant", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("bug", [False, True])
def test_locks(number: int, variant: tuple[bool, bool], bug: bool) -> None:
    persist, correlate = variant
    verdict, _ = run(locks(number, bug=bug, persist=persist, correlate=correlate))
    assert isinstance(verdict, Unsafe if bug else Safe)


def test_large_blocks_prove_locks_without_predicates() -> None:
    _, statistics = run(locks(12))
    assert statistics.counters["predicate.predicates"] == 0
    assert statistics.counters["predicate.abstractions"] < 10


# ----------------------------------------------------------------------------- limits and refusals


DIVERGES = """
void main() {
  int x = 1, y = 1;
  while (*) { x, y = y, x * y + 1; }
  assert(x != 4);
}
"""


def test_the_number_of_refinements_can_be_limited() -> None:
    verdict, statistics = run(DIVERGES, options=Options(refinements=2))
    assert isinstance(verdict, Unknown)
    assert verdict.reason.code == "refinements-reached"
    assert "the loop in line 4" in verdict.reason.message
    assert statistics.counters["predicate.refinements"] == 2


def test_a_divergence_names_the_loop_and_the_predicates_that_kept_coming() -> None:
    verdict, _ = run(DIVERGES, options=Options(rounds=2))
    assert isinstance(verdict, Unknown)
    assert verdict.reason.code == "diverging"
    assert verdict.reason.span is not None
    assert "refinement only unrolls the loop in line 4" in verdict.reason.message
    assert "y" in verdict.reason.message.split("every time:")[1]
    assert "main." not in verdict.reason.message


def test_a_bounded_loop_is_not_unrolled() -> None:
    text = "void main() { int x = 0, y = 5; while (x < 1000) { x, y = x + 1, y + 1; } assert(y == 1005); }"
    verdict, statistics = run(text)
    assert isinstance(verdict, Safe)
    assert statistics.counters["predicate.refinements"] <= 4


def test_two_loops_with_a_relation_between_their_counters() -> None:
    text = """
    void main() {
      int x = 0, y = 0, n = *;
      assume(n >= 0);
      while (x < n) { x = x + 1; y = y + 1; }
      while (x > 0) { x = x - 1; y = y - 1; }
      assert(y == 0);
    }
    """
    verdict, _ = run(text)
    assert isinstance(verdict, Safe)


def test_parity_of_unbounded_mutual_recursion() -> None:
    text = """
    int even(int n) { if (n == 0) return 1; int r = odd(n - 1); return r; }
    int odd(int n) { if (n == 0) return 0; int r = even(n - 1); return r; }
    void main() { int n = *; assume(n >= 0); int a = even(n); int b = odd(n); assert(a + b == 1); }
    """
    verdict, _ = run(text)
    assert isinstance(verdict, Safe)


# ------------------------------------------------------------------------------------------ facts


def test_facts_are_relied_on_and_become_part_of_the_proof() -> None:
    """Without the fact the product has to be reasoned about."""
    text = """
    void main() {
      int x = 3, y = 0;
      while (*) { x = x * x; y = y + 1; }
      assert(x > 0);
    }
    """
    program = load_lp(text, "test.lp").program
    encoded, back = LargeBlocks("large").apply(Task(program))
    assert isinstance(encoded.subject, Program)
    (head,) = loop_forest(encoded.subject.procedures["main"]).heads
    fact = build.lt(build.integer(0), build.var("main.x", INT))
    with_fact = replace(encoded, facts={Point(head): fact})
    statistics = Statistics()
    verdict = back.verdict(PredicateAbstraction().run(with_fact, Options(), Budget(60), statistics))
    assert isinstance(verdict, Safe)
    assert statistics.counters["predicate.refinements"] == 0
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    assert isinstance(check, ProofCheck), check


def test_facts_about_other_places_or_other_variables_are_left_alone() -> None:
    program = load_lp("void main() { int x = 0; assert(x == 0); }", "test.lp").program
    entry = program.procedures["main"].entry
    fact = build.le(build.var("main.x", INT), build.integer(1))
    assert usable_facts(Task(program, facts={Point(entry): fact})) == {Point(entry): fact}
    assert usable_facts(Task(program, facts={Point(entry, (7,)): fact})) == {}
    assert (
        usable_facts(
            Task(program, facts={Point(entry): build.le(old(build.var("main.x", INT)), fact.args[1])})
        )
        == {}
    )


# ------------------------------------------------------------------------------- paths and laziness


@pytest.mark.no_cover
def test_a_path_through_a_thousand_choices_is_decided() -> None:
    choices = "if (*) { x = 1; } else { x = 2; } " * 1000
    start = time.process_time()
    verdict, statistics = run(f"void main() {{ int x = 0; {choices} assert(x == 1); }}")
    assert isinstance(verdict, Unsafe)
    assert statistics.counters["solver.path"] == 1
    assert time.process_time() - start < 60


def test_only_steps_that_new_predicates_touch_are_abstracted_again() -> None:
    """The second loop needs predicates, what leads to the first does not change by that."""
    before = " ".join(f"while (*) {{ a{n} = a{n} + 1; }}" for n in range(10))
    names = ", ".join(f"a{n} = 0" for n in range(10))
    text = f"""
    void main() {{ int {names}, x = 0, y = 0; {before} while (*) {{ x, y = x + 1, y + 1; }} assert(x == y); }}
    """
    verdict, statistics = run(text)
    assert isinstance(verdict, Safe)
    refinements = statistics.counters["predicate.refinements"]
    assert refinements >= 1
    steps = 30  # about three for each loop
    assert statistics.counters["predicate.abstractions"] < steps + 10 * refinements


def test_time_is_limited() -> None:
    program = load_lp(DIVERGES, "test.lp").program
    task, _ = LargeBlocks("large").apply(Task(program))
    with pytest.raises(BudgetExceeded):
        PredicateAbstraction().run(task, Options(), Budget(0), Statistics())


def test_horn_clauses_are_refused() -> None:
    refusal = PredicateAbstraction().unsupported(Task(HornSystem((), ())))
    assert refusal is not None
    assert refusal.code == "unsupported-subject"


def test_the_work_is_the_same_every_time() -> None:
    first, second = (run(COUNTERS)[1].counters for _ in range(2))
    assert first == second


# ------------------------------------------------------------------------------------ abstraction

A, B = (build.var(f"main.{name}", INT) for name in "ab")


def abstraction_of(text: str, precision: Precision, *, minterms: int = 512, exact: bool = False) -> Expr:
    """The abstract states after the first block of main, which ends at a loop head."""
    program = load_lp(text, "test.lp").program
    task, _ = LargeBlocks("large").apply(Task(program))
    assert isinstance(task.subject, type(program))
    steps = steps_of(task.subject)
    abstraction = Abstraction(Regions(), minterms, Budget(20), Statistics())
    first: Step = next(s for s in steps.before[steps.start.target] if s.kind == "block")
    if exact:
        abstraction.exact[first] = None
    region = abstraction.successors(first, [abstraction.regions.everything], precision)
    names = {p: build.var(f"p{n}", BOOL) for n, p in enumerate(precision.predicates)}
    return abstraction.regions.formula(region, names.__getitem__)


EITHER = """
void main() {
  int a = 0, b = 1;
  if (*) { a, b = 1, 0; }
  while (*) { a = a; }
  assert(a + b == 1);
}
"""
P0, P1 = build.var("p0", BOOL), build.var("p1", BOOL)
IS_ONE = tuple(build.eq(x, build.integer(1)) for x in (A, B))


def test_cartesian_abstraction_loses_what_joint_abstraction_keeps() -> None:
    """The thesis' example: of {(0,1), (1,0)} 4 abstract states remain under one, 2 under the other."""
    apart = abstraction_of(EITHER, Precision(IS_ONE))
    assert apart is build.TRUE
    jointly = abstraction_of(EITHER, Precision(IS_ONE, (IS_ONE,)))
    assert jointly is build.ite(P0, build.not_(P1), P1)
    assert abstraction_of(EITHER, Precision(IS_ONE), exact=True) is jointly


def test_the_budget_of_minterms_makes_it_cartesian() -> None:
    assert abstraction_of(EITHER, Precision(IS_ONE, (IS_ONE,)), minterms=1) is build.TRUE


def test_groups_with_too_many_valuations_give_way_to_smaller_ones() -> None:
    """With what is asked of an input there are ten valuations; those of a and b alone are two."""
    text = EITHER.replace("b = 1;", "b = 1, c = *;")
    third = tuple(build.le(build.var("main.c", INT), build.integer(n)) for n in range(4))
    precision = Precision((*IS_ONE, *third), (IS_ONE, (*IS_ONE, *third)))
    few = abstraction_of(text, precision, minterms=5)
    assert few is build.ite(P0, build.not_(P1), P1)
    assert abstraction_of(text, precision, minterms=1) is build.TRUE


def test_groups_are_closed_under_shared_variables_and_none_is_part_of_another() -> None:
    same = (build.le(A, B), build.le(A, build.integer(0)))
    other = build.le(build.var("main.c", INT), build.integer(0))
    assert joint([*same, other], []) == [same]
    assert joint([*same, other], [(same[0], other)]) == [(*same, other)]  # the other is on a variable of it
    apart = build.le(build.var("main.d", INT), build.integer(0))
    assert joint([same[1], other, apart], [(same[1], other)]) == [(same[1], other)]
    assert joint([same[0], other], [(same[1], other)]) == []
    assert within((*same, other), [(same[1], other), (*same, other)]) == [(same[1], other)]


@pytest.mark.parametrize("name", ["boolean_levels", "boolean_recursion_bug", "boolean_swap"])
def test_boolean_variables_are_predicates_from_the_start(name: str) -> None:
    """A Boolean program needs no refinement: its variables are its abstraction."""
    path = Path(__file__).parents[2] / "programs" / f"{name}.lp"
    outcome = verify(path, Settings(engine="predicate", timeout=120.0))
    assert outcome.answer in ("HOLDS", "VIOLATED")
    assert outcome.statistics.counters.get("predicate.refinements", 0) == 0

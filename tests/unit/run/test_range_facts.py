"""Ranges become facts of a task only if `validate` finds them inductive."""

from __future__ import annotations

from tests.unit.analysis.ranges_of import Analysed, c_program, lp_program

from certus.analysis.ranges import facts
from certus.analysis.ranges.bounded import bounded_ranges
from certus.check.proofs.check import check_proof
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.c_text import c_text
from certus.core.engine import Task
from certus.core.evidence import KInductive, Point, Safe
from certus.core.outcome import ProofCheck
from certus.core.program import Program
from certus.engines.registry import ENGINES
from certus.passes.large_blocks import LargeBlocks
from certus.run.sharing import RangeFacts, are_inductive

GUARDED = """extern int any(void); extern void reach_error(void);
int main(void) { int i = 0; while (any()) { if (i < 100) i++; if (i > 100) reach_error(); } return 0; }"""
RECURSIVE = """void f(int n) { int i; i = 0; while (i < 5) { i = i + 1; } if (n > 0) { f(n - 1); } }
void main() { int k; k = 0; while (k < 3) { f(k); k = k + 1; } assert(k == 3); }"""


def given(program: Program, seconds: float | None = 20.0) -> Task:
    return RangeFacts(Budget(seconds), Statistics()).apply(Task(program))[0]


def test_a_task_gets_facts_at_its_loops() -> None:
    task = given(c_program(GUARDED))
    assert [c_text(fact) for fact in task.facts.values()] == ["main.i >= 0 && main.i <= 100"]


def test_facts_about_procedures_that_are_not_inlined() -> None:
    task = given(lp_program(RECURSIVE))
    assert sorted(point.location.procedure for point in task.facts) == ["f", "main"]


def test_without_loops_or_time_there_are_no_facts() -> None:
    assert given(lp_program("void main() { int x; x = 1; assert(x == 1); }")).facts == {}
    assert given(c_program(GUARDED), seconds=0.0).facts == {}


def test_bounded_ranges_are_refused_as_facts() -> None:
    program = c_program("extern int any(void); int main(void) { int i = 0; while (any()) i++; return i; }")
    (head,) = facts.heads(program)
    found = bounded_ranges(Analysed(program).ranges, 5).at(head)
    claimed = {Point(head): build.conjunction(facts.range_formula(x, r) for x, r in found.items())}
    assert not are_inductive(program, claimed, Budget(20), Statistics())
    true = {Point(head): build.TRUE}
    assert are_inductive(program, true, Budget(20), Statistics())


def test_an_engine_repeats_the_facts_in_its_proof() -> None:
    program = c_program(GUARDED)
    task, back = LargeBlocks("large").apply(given(program))
    engine = ENGINES["kind"]
    verdict = back.verdict(engine.run(task, engine.options(), Budget(20), Statistics()))
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, KInductive)
    assert verdict.proof.k == 1
    check = check_proof(program, verdict.proof, budget=Budget(20), statistics=Statistics())
    assert isinstance(check, ProofCheck)

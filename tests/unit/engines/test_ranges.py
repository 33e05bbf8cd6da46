"""The engine `ranges`: proofs by ranges, with calls joined or in one graph."""

from __future__ import annotations

import pytest
from tests.unit.analysis.ranges_of import lp_program

from certus.check.proofs.check import check_proof
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Safe, Unknown, Verdict
from certus.core.outcome import ProofCheck
from certus.core.program import Program
from certus.engines.registry import ENGINES
from certus.passes.large_blocks import LargeBlocks

CALLED = """int g; int f(int k) { g = k; if (k < 9) { return k + 1; } return 0; }
void main() { int i; i = 0; while (*) { i = f(i); assert(i <= 9); i = f(i); assert(g <= 9); } }"""
KEPT = """int f(int k) { return k; }
void main() { int i; int j; i = 1; j = f(0); i = 100 * i; j = f(j); assert(i > 1); }"""


def answer(program: Program, **options: str) -> Verdict:
    engine = ENGINES["ranges"]
    task, back = LargeBlocks("large").apply(Task(program))
    return back.verdict(engine.run(task, engine.options(**options), Budget(20), Statistics()))


@pytest.mark.parametrize("calls", ["joined", "unique"])
def test_calls_either_way_give_a_proof(calls: str) -> None:
    program = lp_program(CALLED)
    verdict = answer(program, calls=calls)
    assert isinstance(verdict, Safe)
    check = check_proof(program, verdict.proof, budget=Budget(30), statistics=Statistics())
    assert isinstance(check, ProofCheck), check


def test_one_graph_mixes_up_what_callers_keep() -> None:
    """In one graph, what follows the second call may come from the first, when i was 1."""
    assert isinstance(answer(lp_program(KEPT), calls="joined"), Safe)
    assert isinstance(answer(lp_program(KEPT), calls="unique"), Unknown)


def test_both_solvers() -> None:
    assert isinstance(answer(lp_program(CALLED), solver="milp"), Safe)

"""Passes keep the verdict: evidence about a transformed random program is accepted for the program itself."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from tests.laws.lp_programs import programs
from tests.laws.reachable import reachable_proof
from tests.laws.test_verdicts import fails

from certus.core.accounting import Budget, Statistics
from certus.core.effects import terms, written
from certus.core.engine import Pass, Task, apply_passes
from certus.core.evidence import Safe, Unsafe
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Assume, Program
from certus.core.walk import variables
from certus.engines.bmc import BoundedModelChecking, Options
from certus.frontend.lp import ast
from certus.frontend.lp.load import load_lp
from certus.frontend.lp.printer import print_lp
from certus.passes.constants import Constants
from certus.passes.inline import Inline
from certus.passes.large_blocks import LargeBlocks
from certus.passes.slice import Slice
from certus.run.publish import examine

PASSES: dict[str, list[Pass]] = {
    "constants": [Constants()],
    "slice": [Slice()],
    "inline": [Inline()],
    "twice": [Inline(small=5), Inline(small=10**6, growth=10**6)],
    "all": [Constants(), Slice(), Inline(), LargeBlocks()],
    "adjustable": [Inline(), LargeBlocks("adjustable", threshold=3)],
    "all again": [Inline(), Slice(), Constants(), Slice(), LargeBlocks("advanced")],
}

# chains without blocks, so that the interpreter can run the program and find its reachable states
SINGLE_STEPS = [name for name, steps in PASSES.items() if not any(isinstance(s, LargeBlocks) for s in steps)]


def well_formed(program: Program) -> None:
    """The invariants of `core.program` that a pass could break."""
    locations = [at for p in program.procedures.values() for at in p.locations]
    assert len({at.index for at in locations}) == len(set(locations))
    indices = [e.index for p in program.procedures.values() for e in p.edges]
    assert len(indices) == len(set(indices))
    assert program.error_locations <= set(locations)
    for procedure in program.procedures.values():
        scope = {*program.globals, *procedure.variables}
        assert scope.issuperset((*procedure.parameters, *procedure.results))
        for at, edges in procedure.successors.items():
            assert at.procedure == procedure.name
            assert len(edges) < 2 or all(isinstance(e.op, Assume) for e in edges)
            assert not edges or at not in program.error_locations
            for edge in edges:
                assert scope.issuperset((*variables(*terms(edge.op)), *written(edge.op, procedure)))


@pytest.mark.parametrize("chain", PASSES)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(tree=programs())
def test_passes_keep_the_verdict(chain: str, tree: ast.ProgramText) -> None:
    program = load_lp(print_lp(tree), "random.lp").program
    task = Task(program)
    backs = []
    for step in PASSES[chain]:
        task, own = step.apply(task)
        backs.append(own)
        assert isinstance(task.subject, Program)
        if not isinstance(step, LargeBlocks):
            well_formed(task.subject)
            assert fails(task.subject) == fails(program)
    verdict = BoundedModelChecking().run(task, Options(), Budget(60), Statistics())
    for own in reversed(backs):
        verdict = own.verdict(verdict)
    assert isinstance(verdict, Unsafe if fails(program) else Safe)
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    expected = Replay if isinstance(verdict, Unsafe) else ProofCheck
    assert isinstance(check, expected), f"{check}\n{print_lp(tree)}"


@pytest.mark.parametrize("chain", SINGLE_STEPS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(tree=programs())
def test_inductive_proofs_are_carried_back(chain: str, tree: ast.ProgramText) -> None:
    program = load_lp(print_lp(tree), "random.lp").program
    assume(not fails(program))
    task, back, _ = apply_passes(Task(program), PASSES[chain])
    assert isinstance(task.subject, Program)
    proof = reachable_proof(task.subject)
    assume(proof is not None)
    for subject, evidence in ((task.subject, Safe(proof)), (program, back.verdict(Safe(proof)))):
        check = examine(subject, evidence, budget=Budget(60), statistics=Statistics())
        assert isinstance(check, ProofCheck), f"{check}\n{print_lp(tree)}"

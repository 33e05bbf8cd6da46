"""Run every registered engine on every small program: a definite answer is right, and its evidence checks.

An engine may answer UNKNOWN unless the program names it in its line `// decided-by:`, so that a lost answer
shows. A tentative engine may also give evidence that the check refuses. A new engine takes part as soon as
it is registered."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.expectations import Expected, all_expected

from certus import Settings, verify
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.engine import BackMap, Engine, ProgramForm, Role, Task
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Program
from certus.engines.registry import ENGINES
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import MODES, LargeBlocks, Mode
from certus.run.publish import examine
from certus.witness.read import read_witness
from certus.witness.write import render_witness, witness_of

UNPROMISED = 1  # seconds for an engine that may answer UNKNOWN
# Limits that keep a search without an answer short.
OPTIONS: Mapping[str, Mapping[str, int]] = {
    "bmc": {"bound": 40},
    "predicate": {"refinements": 7},
    "linear": {"steps": 300},
    "spacer": {"effort": 500_000},
    "clp": {"refinements": 3},
    "kind": {"k": 12},
}

# Every engine runs on large blocks. One engine tries the other sizes: these are the same for all engines.
RUNS = [(name, "large") for name in ENGINES] + [("bmc", mode) for mode in MODES if mode != "large"]
C_RUNS = [
    (program, name)
    for program in all_expected("c/*.c")
    for name in sorted(program.decided_by) or ["auto"]  # all engines in turn
]


def answer(engine: Engine[Any], program: Program, expected: Expected, mode: Mode) -> Verdict:
    task = Task(program, expected.property_name)
    refusal = engine.unsupported(task)
    if refusal is not None:
        return Unknown(refusal)
    original = engine.form is ProgramForm.ORIGINAL
    prepared, back = (task, BackMap.identity()) if original else LargeBlocks(mode).apply(task)
    options = engine.options(**OPTIONS.get(engine.name, {}))
    budget = Budget(120 if engine.name in expected.decided_by else UNPROMISED)
    try:
        return back.verdict(engine.run(prepared, options, budget, Statistics()))
    except BudgetExceeded as limit:
        return Unknown(Diagnostic("time-limit", str(limit)))


def error_line(program: Program, verdict: Unsafe) -> int:
    assert isinstance(verdict.refutation, Trace)
    span = program.error_at(program.location[verdict.refutation.error]).span
    assert span is not None
    return span.line


@pytest.mark.parametrize(("engine", "mode"), RUNS)
@pytest.mark.parametrize("expected", all_expected(), ids=lambda e: e.path.stem)
def test_definite_answers_are_right_and_checked(engine: str, expected: Expected, mode: Mode) -> None:
    program = load_lp(expected.path.read_text(), expected.path.name, expected.property_name).program
    verdict = answer(ENGINES[engine], program, expected, mode)
    if isinstance(verdict, Unknown):
        assert engine not in expected.decided_by, verdict.reason
        return
    evidence = verdict.proof if isinstance(verdict, Safe) else verdict.refutation
    assert isinstance(evidence, ENGINES[engine].evidence)
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    if ENGINES[engine].role is Role.TENTATIVE and isinstance(check, Diagnostic):
        assert engine not in expected.decided_by, check
        return
    if isinstance(verdict, Safe):
        assert expected.answer == "HOLDS"
        assert isinstance(check, ProofCheck), check
    else:
        assert isinstance(check, Replay), check
        assert error_line(program, verdict) in expected.violated


@pytest.mark.parametrize(
    ("expected", "engine"), C_RUNS, ids=lambda x: x if isinstance(x, str) else x.path.stem
)
def test_c_programs_are_decided_by_the_engines_they_name(
    expected: Expected, engine: str, tmp_path: Path
) -> None:
    settings = Settings(engine=engine, property_name=expected.property_name, timeout=120)
    outcome = verify(expected.path, settings)
    assert outcome.answer == expected.answer, outcome.verdict
    assert isinstance(outcome.check, ProofCheck | Replay)
    if isinstance(outcome.verdict, Unsafe):
        assert isinstance(outcome.subject, Program)
        assert error_line(outcome.subject, outcome.verdict) in expected.violated
    result = witness_of(outcome)
    assert not isinstance(result, str), result
    witness, remark = result
    file = tmp_path / "witness.yml"
    file.write_text(render_witness(witness, engine=engine, remark=remark, created="2024-01-01"))
    assert read_witness(file) == witness


def test_programs_name_registered_engines() -> None:
    programs = [*all_expected(), *all_expected("c/*.c")]
    assert [p.path.name for p in programs if not p.decided_by <= set(ENGINES)] == []
    assert [p.path.name for p in programs if p.path.suffix == ".lp" and not p.decided_by] == []

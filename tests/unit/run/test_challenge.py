"""How native runs change an answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from certus.codec.outcomes import decode_challenge, encode_challenge
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.evidence import Execution, Inductive, Safe, Unknown
from certus.core.outcome import (
    COMPILERS_DISAGREE,
    CONTRADICTION,
    MODEL_DISAGREES,
    Challenge,
    Compilers,
    Disagreement,
    Outcome,
)
from certus.frontend import load
from certus.run.publish import judge
from certus.run.settings import Settings
from certus.run.verify import verify

SAFE = "extern int __VERIFIER_nondet_int(void);\nint main(void) { return __VERIFIER_nondet_int() & 1; }\n"
WARNING = Diagnostic("undefined-behaviour", "an execution meets it", Severity.WARNING)
WRONG = Disagreement(MODEL_DISAGREES, {"__VERIFIER_nondet_int": (7, -1)}, "it crashed", "main returned")


DEPENDS = Disagreement(
    COMPILERS_DISAGREE,
    {"__VERIFIER_nondet_int": (7,)},
    "main returned",
    "main returned",
    "the error was reached",
    {"clang": ("__VERIFIER_nondet_int", "other"), "gcc": ("other", "__VERIFIER_nondet_int")},
)


def outcome_of(directory: Path, *, execution: bool = False) -> Outcome:
    path = directory / "p.c"
    path.write_text(SAFE)
    proof = Execution(3) if execution else Inductive({}, {})
    return Outcome(load(path).program, "unreach-call", Safe(proof), "bmc")


def test_an_answer_that_stands_up_to_its_challenge_says_so(tmp_path: Path) -> None:
    found = judge(outcome_of(tmp_path), Challenge(200, 56, warnings=(WARNING,)))
    assert found.answer == "HOLDS"
    assert found.challenge is not None
    agreed = "challenged: 200 native runs of the compiled program agree with the model"
    assert found.challenge.sentence == f"{agreed}, 56 could not be compared"
    assert found.diagnostics[0] == WARNING


def test_a_disagreement_is_unknown_and_both_sides_are_saved(tmp_path: Path) -> None:
    found = judge(outcome_of(tmp_path), Challenge(disagreement=WRONG), tmp_path / "kept")
    assert isinstance(found.verdict, Unknown)
    assert found.verdict.reason.code == MODEL_DISAGREES
    assert "__VERIFIER_nondet_int() = 7" in found.verdict.reason.message
    saved = json.loads((tmp_path / "kept" / "disagreement.json").read_text())
    assert (saved["native"], saved["model"]) == ("it crashed", "main returned")
    assert (tmp_path / "kept" / "program.c").read_text() == SAFE


def test_compilers_that_disagree_are_unknown_and_both_runs_are_saved(tmp_path: Path) -> None:
    order = Diagnostic("evaluation-order", "inputs in another order", Severity.WARNING)
    found = judge(outcome_of(tmp_path), Challenge(disagreement=DEPENDS, warnings=(order,)), tmp_path / "kept")
    assert isinstance(found.verdict, Unknown)
    reason = found.verdict.reason
    assert reason.code == COMPILERS_DISAGREE
    assert "with Clang, main returned; with gcc, the error was reached" in reason.message
    assert reason.hint is not None
    assert str(tmp_path / "kept") in reason.hint
    assert order in found.diagnostics
    saved = json.loads((tmp_path / "kept" / "disagreement.json").read_text())
    assert saved["inputs"] == {"__VERIFIER_nondet_int": [7]}
    assert saved["clang"] == {"ended": "main returned", "asked": ["__VERIFIER_nondet_int", "other"]}
    assert saved["gcc"] == {"ended": "the error was reached", "asked": ["other", "__VERIFIER_nondet_int"]}
    assert (tmp_path / "kept" / "program.c").read_text() == SAFE


def test_compilers_that_disagree_end_the_whole_run(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text(
        "void reach_error(void);\nint n;\nint next(void) { return ++n; }\n"
        "void f(int a, int b) { if (a > b) reach_error(); }\n"
        "int main(void) { f(next(), next()); return 0; }\n"
    )
    found = verify(path, Settings(timeout=60, evidence=tmp_path / "kept"))
    assert isinstance(found.verdict, Unknown)
    assert found.verdict.reason.code == COMPILERS_DISAGREE
    assert "evaluation-order" in [diagnostic.code for diagnostic in found.diagnostics]
    assert (tmp_path / "kept" / "disagreement.json").exists()


def test_an_error_of_both_contradicts_the_proof(tmp_path: Path) -> None:
    found = judge(outcome_of(tmp_path), Challenge(disagreement=replace(WRONG, code=CONTRADICTION)), tmp_path)
    assert isinstance(found.verdict, Unknown)
    assert found.verdict.reason.code == CONTRADICTION


def test_a_proof_by_execution_needs_the_native_run_to_its_end(tmp_path: Path) -> None:
    only = outcome_of(tmp_path, execution=True)
    assert judge(only, Challenge(1, 0, only_run_ended=True)).answer == "HOLDS"
    assert judge(only, Challenge(0, 1, "it did not end")).answer == "UNKNOWN"
    assert judge(only, Challenge(why_not="the program was not executed")).answer == "HOLDS"


def test_challenges_travel_between_processes() -> None:
    challenges = (
        Challenge(3, 4, "x", only_run_ended=True, warnings=(WARNING, WARNING)),
        Challenge(disagreement=WRONG),
        Challenge(disagreement=DEPENDS),
        Challenge(3, 4, compilers=Compilers(("clang",), "it is not installed")),
        Challenge(3, 4, compilers=Compilers(("clang", "gcc"), differs="x"), gcc_compared=2),
    )
    for found in challenges:
        assert decode_challenge(json.loads(json.dumps(encode_challenge(found)))) == found


def test_a_holds_is_challenged_with_one_core_and_with_two(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text(SAFE)
    for cores in (1, 2):
        found = verify(path, Settings(timeout=60, cores=cores))
        assert found.answer == "HOLDS"
        assert found.challenge is not None
        runs = found.challenge.compared, found.challenge.not_compared
        assert sum(runs) == 256
        assert runs[0] >= 32, "on a busy machine the time for native runs may end before all are compared"
        assert found.challenge.compilers == Compilers(("clang", "gcc"))


def test_an_engine_takes_over_if_the_only_run_does_not_end_natively(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine of the process that ran the program has not been asked before."""
    monkeypatch.setattr("certus.run.publish.challenged", lambda *_, **__: Challenge(0, 1, "too long"))
    path = tmp_path / "p.c"
    path.write_text(
        "void reach_error(void);\nint main(void) { int x = 3; if (x != 3) reach_error(); return 0; }\n"
    )
    found = verify(path, Settings(timeout=60, engines=("bmc",)))
    assert (found.answer, found.engine) == ("HOLDS", "bmc")


def test_a_program_that_is_not_executed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text(SAFE)
    found = verify(path, Settings(timeout=60, execute=False))
    assert found.challenge is not None
    assert found.challenge.sentence == "not challenged: the program was not executed"

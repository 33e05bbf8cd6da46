"""The default question: one answer for each kind of checks, and what it assumes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.core.evidence import Unknown
from certus.core.outcome import Outcome
from certus.core.vocabulary import KINDS, SUPPORTED, default_kinds
from certus.frontend import load_question, read_question
from certus.report.text import render_text
from certus.run.recheck import recheck
from certus.run.schedule import Schedule
from certus.run.settings import Settings
from certus.run.verify import KindsSchedule, finding, verify

DECLARED = """extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
"""
SUM = """int main(void) {
    int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();
    if (a < 0 || b < 0) return 0;
    int sum = a + b;
    if (sum < a) reach_error();
    return 6 / (sum + 1);
}
"""
ALL_WRONG = """int main(void) {
    int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();
    switch (__VERIFIER_nondet_int()) {
    case 1: return a + b;
    case 2: return a / (b & 7);
    case 3: return a >> (b & 63);
    default: if (a == 3) reach_error(); return 0;
    }
}
"""
HOLDS, VIOLATED, UNKNOWN = "HOLDS", "VIOLATED", "UNKNOWN"
FOUR = ("assert", "overflow", "division", "shift")
USUAL = Settings(timeout=30, checks=FOUR)


def asked(directory: Path, text: str, settings: Settings | None = None) -> Outcome:
    path = directory / "p.c"
    path.write_text(DECLARED + text)
    return verify(path, settings or USUAL)


def said(outcome: Outcome) -> dict[str, str]:
    return {each.kind: each.answer for each in outcome.answers}


def test_all_kinds_are_asked_for(tmp_path: Path) -> None:
    outcome = asked(
        tmp_path, "int main(void) { int x = __VERIFIER_nondet_int() & 7; return 6 / (x + 1); }", Settings()
    )
    assert outcome.answer == HOLDS
    assert outcome.property_name == ",".join(default_kinds())
    assert said(outcome) == dict.fromkeys(default_kinds(), HOLDS)
    assert [each.kind for each in outcome.answers if each.vacuous] == ["assert", "memory", "shift"]
    assert not any(each.assumed for each in outcome.answers)
    assert len({id(each.verdict) for each in outcome.answers}) == 1  # one proof


def test_the_others_are_answered_after_a_violation_and_assume_it_away(tmp_path: Path) -> None:
    outcome = asked(tmp_path, SUM)
    assert said(outcome) == {"assert": HOLDS, "overflow": VIOLATED, "division": HOLDS, "shift": HOLDS}
    assert (outcome.answer, outcome.property_name) == (VIOLATED, "no-overflow")
    assumed = {each.kind: each.assumed for each in outcome.answers}
    overflow = (("overflow", VIOLATED),)
    assert assumed == {"assert": overflow, "overflow": (), "division": overflow, "shift": overflow}


def test_the_same_program_under_a_property_of_competitions(tmp_path: Path) -> None:
    """There signed overflow wraps, so that the error is reached."""
    outcome = asked(tmp_path, SUM, Settings(timeout=30, property_name="unreach-call"))
    assert outcome.answer == VIOLATED
    assert outcome.answers == ()
    assert said(asked(tmp_path, SUM, Settings(timeout=30, checks=("assert",)))) == {"assert": VIOLATED}


def test_every_kind_can_be_violated(tmp_path: Path) -> None:
    outcome = asked(tmp_path, ALL_WRONG)
    assert said(outcome) == dict.fromkeys(FOUR, VIOLATED)
    for each in outcome.answers:
        assert each.check is not None
        assert getattr(each.check, "compiled", "") == "confirmed"


def test_an_error_behind_another_is_not_reached(tmp_path: Path) -> None:
    """Every execution ends at the division, so nothing behind it is an error of its own."""
    text = "int main(void) { int z = 0; int x = 5 / z; reach_error(); return x << 99; }"
    outcome = asked(tmp_path, text)
    assert said(outcome) == {"assert": HOLDS, "overflow": HOLDS, "division": VIOLATED, "shift": HOLDS}
    assert dict.fromkeys(each.assumed for each in outcome.answers) == {
        (("division", VIOLATED),): None,
        (): None,
    }


def test_kinds_are_asked_for_one_by_one_if_there_is_no_answer_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []

    def run(self: Schedule, children: object = None) -> Outcome:
        questions.append(self.task.property_name)
        verdict = Unknown(Diagnostic("time-limit", "too slow"))
        outcome = Outcome(self.task.subject, self.task.property_name, verdict, "bmc")
        return original(self) if self.task.property_name in ("division,shift", "overflow") else outcome

    original = Schedule.run
    monkeypatch.setattr(Schedule, "run", run)
    path = tmp_path / "p.c"
    path.write_text(DECLARED + SUM.replace("6 / (sum + 1)", "0"))
    question = read_question(path, checks=FOUR)
    program = load_question(question).program
    outcome = KindsSchedule(program, question, Settings(), 0.0, seconds=30.0).run()
    assert questions == ["assert,overflow,division,shift", "division,shift", "assert", "overflow"]
    assert said(outcome) == {"assert": UNKNOWN, "overflow": VIOLATED, "division": HOLDS, "shift": HOLDS}
    assert outcome.answer == VIOLATED
    assert outcome.answers[2].assumed == (("assert", UNKNOWN), ("overflow", VIOLATED))


def test_a_reason_that_concerns_all_kinds_is_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []

    def run(self: Schedule, children: object = None) -> Outcome:
        questions.append(self.task.property_name)
        verdict = Unknown(Diagnostic("interrupted", "interrupted"))
        return Outcome(self.task.subject, self.task.property_name, verdict, "bmc")

    monkeypatch.setattr(Schedule, "run", run)
    assert said(asked(tmp_path, SUM)) == dict.fromkeys(FOUR, UNKNOWN)
    assert len(questions) == 1


def test_a_refused_program_is_unknown_for_every_kind(tmp_path: Path) -> None:
    text = "#include <setjmp.h>\njmp_buf place; int main(void) { return setjmp(place); }"
    outcome = asked(tmp_path, text)
    assert outcome.answer == UNKNOWN
    assert said(outcome) == dict.fromkeys(FOUR, UNKNOWN)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(checks=("assert", "everything")),
        Settings(checks=("",)),
        Settings(checks=("assert",), property_name="unreach-call"),
    ],
)
def test_impossible_checks_are_refused(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        asked(tmp_path, SUM, settings)


def test_other_languages_have_no_kinds(tmp_path: Path) -> None:
    path = tmp_path / "p.lp"
    path.write_text("void main() { int x = *; assert(x == x); }\n")
    outcome = verify(path)
    assert (outcome.property_name, outcome.answers) == ("unreach-call", ())
    with pytest.raises(InputError, match="--checks is for C programs"):
        verify(path, Settings(checks=("assert",)))


def test_memory_is_asked_for_once_it_is_supported() -> None:
    supported = KINDS["memory"].property in SUPPORTED
    assert ("memory" in default_kinds()) == supported


def test_the_first_finding_is_a_violation(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text(DECLARED + SUM)
    program = load_question(read_question(path, checks=None)).program
    unknown = Outcome(program, "", Unknown(Diagnostic("time-limit", "too slow")), "bmc")
    violated = asked(tmp_path, SUM).answers[1]
    answers = {"assert": unknown, "overflow": replace(violated, kind="overflow")}
    assert finding(program, ("assert", "overflow"), answers).answer == VIOLATED
    assert finding(program, ("assert",), {"assert": unknown}).answer == UNKNOWN


def test_evidence_has_a_directory_for_each_kind(tmp_path: Path) -> None:
    saved = tmp_path / "evidence"
    asked(tmp_path, SUM, replace(USUAL, evidence=saved))
    result = recheck(saved, execute=True)
    assert result.verdict == VIOLATED
    verdicts = {kind: each.verdict for kind, each in result.answers.items()}
    assert verdicts == {"assert": HOLDS, "overflow": VIOLATED, "division": HOLDS, "shift": HOLDS}
    assumption = "no signed arithmetic overflows (overflow: VIOLATED)"
    assert result.answers["assert"].assuming == (assumption,)
    alone = recheck(saved / "assert")
    assert alone.verdict == HOLDS
    assert "no signed arithmetic overflows (overflow: not checked here)" in alone.assuming


def test_evidence_about_another_kind_is_refused(tmp_path: Path) -> None:
    saved = tmp_path / "evidence"
    asked(tmp_path, SUM, replace(USUAL, evidence=saved))
    manifest = saved / "assert" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"kind": "assert"', '"kind": "shift"'))
    with pytest.raises(InputError, match="not about assert"):
        recheck(saved)


def test_an_answer_that_others_rest_on_cannot_be_left_out(tmp_path: Path) -> None:
    saved = tmp_path / "evidence"
    asked(tmp_path, SUM, replace(USUAL, evidence=saved))
    manifest = saved / "manifest.json"
    data = json.loads(manifest.read_text())
    del data["answers"]["overflow"]
    manifest.write_text(json.dumps(data))
    with pytest.raises(InputError, match="has not the answers about all kinds"):
        recheck(saved)


def test_a_kind_without_sites_needs_no_invariant_and_no_assumption_about_memory(tmp_path: Path) -> None:
    text = """#include <stdlib.h>
    int main(void) {
        char *a = malloc(4);
        for (int i = 0; i <= 4; i++) a[i] = 0;
        free(a);
    }
    """
    settings = Settings(timeout=30, checks=("assert", "memory", "shift"))
    outcome = asked(tmp_path, text, settings)
    assert said(outcome) == {"assert": HOLDS, "memory": VIOLATED, "shift": HOLDS}
    report = render_text(outcome).splitlines()
    assert report[0].endswith("which has 4 bytes, allocated at line 5 (CWE-787)")
    assert sum("which has 4 bytes" in line for line in report) == 1
    start = next(number for number, line in enumerate(report) if line.startswith(HOLDS))
    assert [line.split(" (")[0] for line in report[start + 1 : start + 3]] == [
        "  nothing to check: assert, shift",
        "  assuming: memory accesses are valid, and no memory is lost",
    ]
    assert report[start + 3].startswith("  checked: no clause needs a solver")

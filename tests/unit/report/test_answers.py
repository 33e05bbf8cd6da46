"""Reports on the default question: all answers, and what they assume."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from certus.core.diagnostic import Diagnostic
from certus.core.outcome import Outcome
from certus.report.html.page import render_html
from certus.report.json import render_json
from certus.report.sarif import sarif_log
from certus.report.text import render_text
from certus.run.settings import Settings
from certus.run.verify import verify
from certus.witness.write import witness_of

CHECKS = ("assert", "overflow", "division", "shift")
SUM = """extern int __VERIFIER_nondet_int(void);
int main(void) {
    int a = __VERIFIER_nondet_int() & 1;
    int sum = a + 2147483647;
    int bound = 6;
    return bound / (sum - 7);
}
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("answers") / "sum.c"
    path.write_text(SUM)
    return verify(path, Settings(engine="bmc", checks=CHECKS, execute=False))


@pytest.fixture(scope="module")
def safe(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    path = tmp_path_factory.mktemp("answers") / "safe.c"
    path.write_text("int main(int n, char **a) { return (n & 7) + 1; }\n")
    return verify(path, Settings(engine="bmc", checks=CHECKS, execute=False))


def test_the_text_starts_with_what_was_found(mixed: Outcome) -> None:
    lines = render_text(mixed).splitlines()
    place = mixed.subject.file
    assert lines[0] == f"{place}:4: signed overflow: a + 2147483647 is 2147483648, outside int"
    assert lines[1].startswith(f"VIOLATED  {place}  overflow  (bmc, ")
    holds = next(n for n, line in enumerate(lines) if line.startswith("HOLDS"))
    assert lines[holds].startswith(f"HOLDS  {place}  assert, division, shift  (bmc, ")
    assert lines[holds + 1] == "  proved: no integer is divided by zero"
    assert lines[holds + 2] == "  nothing to check: assert, shift"
    assert "  assuming: no signed arithmetic overflows (overflow: VIOLATED)" in lines[holds:]
    assert render_text(mixed, detail="quiet") == lines[0]


def test_one_proof_is_told_once(safe: Outcome) -> None:
    lines = render_text(safe).splitlines()
    assert sum(line.startswith("HOLDS") for line in lines) == 1
    assert lines[0].startswith(f"HOLDS  {safe.subject.file}  assert, overflow, division, shift  (bmc, ")
    assert not any("assuming: no" in line for line in lines)
    assert render_text(safe, detail="quiet") == lines[0]


def test_what_belongs_to_no_answer_comes_last(safe: Outcome) -> None:
    failure = Diagnostic("evidence-not-saved", "the evidence was not saved: the disk is full")
    failed = replace(safe, diagnostics=(*safe.diagnostics, failure))
    last = render_text(failed).splitlines()[-1]
    assert last == "error[evidence-not-saved]: the evidence was not saved: the disk is full"


def test_json_has_all_answers_and_the_first_finding(mixed: Outcome, safe: Outcome) -> None:
    report = json.loads(render_json(mixed))
    assert [(each["kind"], each["verdict"]) for each in report["answers"]] == [
        ("assert", "HOLDS"),
        ("overflow", "VIOLATED"),
        ("division", "HOLDS"),
        ("shift", "HOLDS"),
    ]
    assert {key: report[key] for key in ("verdict", "property", "trace")} == {
        key: report["answers"][1][key] for key in ("verdict", "property", "trace")
    }
    assert [each["vacuous"] for each in report["answers"]] == [True, False, False, True]
    assert json.loads(render_json(safe))["property"] == "assert,overflow,division,shift"


def test_sarif_has_a_result_for_each_violated_kind(mixed: Outcome) -> None:
    run = sarif_log(mixed, exit_code=1)["runs"][0]
    assert [result["ruleId"] for result in run["results"]] == ["overflow"]
    assert run["properties"]["answers"]["division"] == "HOLDS"
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assuming = [note["message"]["text"] for note in notes if note["descriptor"]["id"] == "assuming"]
    assert "The proof assumes that no signed arithmetic overflows (overflow: VIOLATED)." in assuming
    assert not any(note["level"] == "warning" for note in notes)


def test_the_page_has_all_answers(mixed: Outcome) -> None:
    page = render_html(mixed)
    assert "overflow: VIOLATED, assert, division, shift: HOLDS" in page
    assert 'aria-controls="answers"' in page
    assert "assuming: no signed arithmetic overflows (overflow: VIOLATED)" in page


def test_the_witness_is_that_of_the_first_finding(mixed: Outcome, safe: Outcome) -> None:
    assert mixed.specification == "CHECK( init(main()), LTL(G ! overflow) )"
    assert safe.specification == "CHECK( init(main()), LTL(G ! call(reach_error())) )"
    assert not isinstance(witness_of(safe), str)
    assert mixed.answers[0].specification == ""  # it assumes that nothing overflows

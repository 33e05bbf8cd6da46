"""How reports show violations of memory safety: C programs, run by the interpreter."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.sarif import faults

from certus.core.evidence import Unsafe
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.witness import ViolationWitness
from certus.report.cfa import to_dot
from certus.report.counterexample import counterexample
from certus.report.html.page import render_html
from certus.report.json import outcome_json
from certus.report.sarif import render_sarif
from certus.report.text import render_text
from certus.run.verify import Settings, verify
from certus.witness.read import read_witness
from certus.witness.write import render_witness, witness_of

HEAD = (
    "extern void *malloc(unsigned long); extern void free(void *); extern char *strcpy(char *, const char *);"
)
FREED = f"""{HEAD}
int main(void) {{
  int *p = malloc(8), x = 1;
  p[1] = x;
  free(p);
  return p[1];
}}
"""
LOST = f"""{HEAD}
int main(void) {{
  char *p = malloc(3);
  *p = 1;
  p = 0;
  return 0;
}}
"""


def violated(tmp_path: Path, text: str) -> Outcome:
    file = tmp_path / "test.c"
    file.write_text(text)
    settings = Settings(engine="execution", execute=False, property_name="valid-memsafety")
    outcome = verify(file, settings)
    assert isinstance(outcome.verdict, Unsafe), outcome.verdict
    return replace(outcome, seconds={"total": 0.5})


@pytest.fixture(scope="module")
def freed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return violated(tmp_path_factory.mktemp("freed"), FREED)


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return violated(tmp_path_factory.mktemp("lost"), LOST)


def test_the_text_says_what_is_wrong_first(freed: Outcome) -> None:
    file = freed.subject.file
    lines = render_text(freed).split("\n")
    sentence = "read of 4 bytes at offset 4 of `malloc(8)`, allocated at line 3, freed at line 5 (CWE-416)"
    assert lines[0] == f"VIOLATED  {file}  valid-memsafety  valid-deref  (execution, 0.50 s)"
    assert lines[1] == f"  {file}:6: {sentence}"


def test_steps_that_only_ask_are_not_shown(freed: Outcome) -> None:
    trace = counterexample(freed)
    assert trace is not None
    shown = [(move.statement, move.effect, move.reason) for move in trace.moves]
    assert ("free(p)", "", "ends the object that line 6 uses") in shown
    assert [effect for _, effect, _ in shown if "true" in effect or "false" in effect] == []
    assert shown[-1][2] == "the violated claim"
    assert [statement for statement, _, _ in shown].count("p[1] = x") == 1


def test_a_pointer_to_a_freed_object_keeps_its_name(tmp_path: Path) -> None:
    source = f"{HEAD}\nvoid end(char *p) {{\n  free(p);\n}}\nint main(void) {{\n  char *p = malloc(1);\n"
    outcome = violated(tmp_path, source + "  end(p);\n  end(p);\n  return 0;\n}\n")
    trace = counterexample(outcome)
    assert trace is not None
    assert "p = &malloc#1 (freed)" in [move.effect for move in trace.moves]


def test_json_has_the_defect(freed: Outcome, lost: Outcome) -> None:
    data = json.loads(json.dumps(outcome_json(freed)))
    defect = data["trace"]["violated"]["defect"]
    assert data["subproperty"] == "valid-deref"
    assert (defect["kind"], defect["cwe"], defect["offset"], defect["bytes"]) == ("freed", 416, 4, 4)
    assert (defect["object"]["allocated"]["line"], defect["object"]["ended"]["line"]) == (3, 5)
    gone = outcome_json(lost)["trace"]["violated"]["defect"]
    assert (gone["kind"], gone["objects"]) == ("lost", 1)
    assert (gone["lost"]["how"], gone["lost"]["at"]["line"]) == ("overwritten", 5)


def test_sarif_has_the_weakness(freed: Outcome) -> None:
    log = json.loads(render_sarif(freed, exit_code=1))
    assert faults(log) == []
    (run,) = log["runs"]
    (result,) = run["results"]
    assert result["message"]["text"].startswith("Read of 4 bytes at offset 4 of `malloc(8)`, allocated at")
    assert [taxon["id"] for taxon in result["taxa"]] == ["416"]
    assert "416" in [taxon["id"] for taxon in run["taxonomies"][0]["taxa"]]
    lines = [place["physicalLocation"]["region"]["startLine"] for place in result["relatedLocations"]]
    assert lines == [3, 5]
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert "external/cwe/cwe-416" in rule["properties"]["tags"]


def test_the_page_shows_the_object(freed: Outcome, lost: Outcome) -> None:
    page = render_html(freed)
    assert 'freed at <a class="go" href="#L5">line 5</a>' in page
    assert '<svg class="object"' in page
    assert "<h2>Object</h2>" in render_html(lost)


def test_automata_name_the_questions(freed: Outcome) -> None:
    assert isinstance(freed.subject, Program)
    drawing = to_dot(freed.subject)
    assert "can read 4 bytes at" in drawing
    assert "can free" in drawing
    assert "all of the heap is tracked" in drawing


@pytest.mark.parametrize(
    ("body", "line", "column"),
    [
        ('  char a[2];\n  strcpy(a, "too long");\n  return 0;\n', 4, 3),  # in a model of the library
        ("  char *p = malloc(3);\n  p = 0;\n  return 0;\n", 6, 1),  # at the end of the program
    ],
)
def test_witnesses_end_at_the_violation(tmp_path: Path, body: str, line: int, column: int) -> None:
    outcome = violated(tmp_path, f"{HEAD}\nint main(void) {{\n{body}}}\n")
    made = witness_of(outcome)
    assert not isinstance(made, str)
    witness, remark = made
    assert isinstance(witness, ViolationWitness)
    target = witness.segments[-1][-1]
    assert (target.kind, target.place.line, target.place.column) == ("target", line, column)
    path = tmp_path / "witness.yml"
    created = "2024-01-01T00:00:00+00:00"
    path.write_text(render_witness(witness, engine="execution", remark=remark, created=created))
    assert read_witness(path) == witness

"""Saved evidence: what was verified can be checked again, and nothing else passes for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from certus import InputError, Settings, recheck, verify

HOLDS = """
void main() {
  int i = 0; int n = *;
  assume(0 <= n && n <= 3);
  while (i < n) { i = i + 1; }
  assert(i == n);
}
"""
SAT = """(declare-fun Inv (Int) Bool)
(assert (Inv 0))
(assert (forall ((x Int)) (=> (and (Inv x) (< x 5)) (Inv (+ x 1)))))
(assert (forall ((x Int)) (=> (and (Inv x) (> x 5)) false)))
(check-sat)
"""
UNSAT = SAT.replace("(> x 5)", "(= x 2)")
FAILS = "void main() { int x = *; int y = *; assume(y == 7); assert(x != y); }"


def saved(tmp_path: Path, text: str) -> Path:
    name = "clauses.smt2" if text in (SAT, UNSAT) else "prog.lp"
    source, directory = tmp_path / name, tmp_path / "evidence"
    source.write_text(text)
    outcome = verify(source, Settings(evidence=directory))
    assert outcome.answer == ("HOLDS" if text in (HOLDS, SAT) else "VIOLATED")
    return directory


@pytest.mark.parametrize(
    ("text", "verdict"), [(HOLDS, "HOLDS"), (FAILS, "VIOLATED"), (SAT, "HOLDS"), (UNSAT, "VIOLATED")]
)
def test_evidence_checks_again(tmp_path: Path, text: str, verdict: str) -> None:
    result = recheck(saved(tmp_path, text))
    assert result.verdict == verdict
    assert result.problems == ()


def test_clauses_are_saved_for_other_solvers(tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["clauses"]
    for name in manifest["clauses"]:
        assert "(check-sat)" in (directory / name).read_text()


def test_a_changed_source_does_not_pass(tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    (directory / "source.lp").write_text(HOLDS.replace("n <= 3", "n <= 4"))
    result = recheck(directory)
    assert result.verdict == "UNKNOWN"
    assert {p.code for p in result.problems} == {"evidence-changed", "proof-refuted"}


def test_a_changed_proof_does_not_pass(tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    path = directory / "evidence.json"
    text = path.read_text()
    assert ": 4" in text
    path.write_text(text.replace(": 4", ": 2"))
    result = recheck(directory)
    assert result.verdict == "UNKNOWN"
    assert [p.code for p in result.problems] == ["proof-refuted"]


def test_changed_clauses_do_not_pass(tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    first = sorted((directory / "clauses").iterdir())[0]
    first.write_text("(assert false)\n(check-sat)\n")
    assert recheck(directory).verdict == "UNKNOWN"


@pytest.mark.parametrize("name", ["clauses/0001.smt2", "clauses", "clauses/" + 300 * "0"])
def test_clauses_that_cannot_be_read_do_not_pass(name: str, tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    (directory / "clauses" / "0001.smt2").write_bytes(b"\xff")
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest["clauses"] = {name: ""}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    assert [each.code for each in recheck(directory).problems] == ["evidence-changed"]


def test_a_changed_trace_does_not_pass(tmp_path: Path) -> None:
    directory = saved(tmp_path, FAILS)
    path = directory / "evidence.json"
    path.write_text(path.read_text().replace("7", "8"))
    result = recheck(directory)
    assert result.verdict == "UNKNOWN"
    assert [p.code for p in result.problems] == ["trace-not-replayed"]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("manifest.json", None, "cannot be read"),
        ("manifest.json", "{", "no JSON"),
        ("manifest.json", "[]", "no JSON object"),
        ("manifest.json", '{"format": 2}', "no proper field"),
        ("manifest.json", '{"format": 1}', "this version reads the formats 2 and 3"),
        ("manifest.json", '{"format": 4}', "its format is 4"),
        ("manifest.json", '{"format": 3}', "no proper field"),
        ("manifest.json", '{"format": 3, "answers": {"boredom": "HOLDS"}}', "no proper field"),
        ("manifest.json", "[" * 100_000, "nested more deeply"),
        ("evidence.json", "{}", "does not fit"),
        ("evidence.json", "[" * 100_000, "nested more deeply"),
        ("evidence.json", '{"answer": ' * 100_000, "nested more deeply"),
    ],
)
def test_unusable_evidence_is_said_to_be_so(
    tmp_path: Path, name: str, content: str | None, word: str
) -> None:
    directory = saved(tmp_path, HOLDS)
    if content is None:
        (directory / name).unlink()
    else:
        (directory / name).write_text(content)
    with pytest.raises(InputError, match=word):
        recheck(directory)


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("headers", {"a\0.h": ""}),
        ("clauses", {"clauses/\0": ""}),
        ("clang_arguments", ["-DX=\0"]),
        ("clang_arguments", ["-DX=\ud800"]),
    ],
)
def test_words_that_the_system_cannot_take_are_refused(field: str, content: object, tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    path = directory / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: content}))
    with pytest.raises(InputError, match="its manifest"):
        recheck(directory)


def test_a_header_with_an_impossible_name_is_changed(tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    path = directory / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"headers": {300 * "a": "0"}}))
    assert [each.code for each in recheck(directory).problems] == ["evidence-changed"]


def test_a_manifest_cannot_lead_out_of_the_directory(tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["sources"][0]["file"] = "../prog.lp"
    path.write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="outside the directory"):
        recheck(directory)


@pytest.mark.parametrize("sources", [[], [3], [{"file": "source.lp"}], "twice", "other"])
def test_sources_that_are_none_are_refused(tmp_path: Path, sources: object) -> None:
    directory = saved(tmp_path, HOLDS)
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    entry = manifest["sources"][0]
    some = {"twice": [entry, entry], "other": [entry, entry | {"file": "other.lp"}]}
    manifest["sources"] = some[sources] if isinstance(sources, str) else sources
    path.write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="no proper field 'sources'"):
        recheck(directory)


def test_evidence_of_format_1_tells_the_command_to_run_again(tmp_path: Path) -> None:
    directory = saved(tmp_path, HOLDS)
    old = {"format": 1, "source": "source/a b.c", "property": "no-overflow", "data_model": "ILP32"}
    old["clang_arguments"] = ["-Isource/include", "-DN=3"]
    (directory / "manifest.json").write_text(json.dumps(old))
    with pytest.raises(InputError) as caught:
        recheck(directory)
    hint = caught.value.diagnostics[0].hint
    assert hint == (
        f"verify it again: `certus verify '{directory}/source/a b.c' --property no-overflow "
        f"-I{directory}/source/include -DN=3 --data-model ILP32 --evidence {directory}-2`"
    )


# -------------------------------------------------------------------------------- Horn clauses


def test_a_model_is_saved_with_its_clauses(tmp_path: Path) -> None:
    directory = saved(tmp_path, SAT)
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["property"] == "check-sat"
    assert [each["file"] for each in manifest["sources"]] == ["source.smt2"]
    assert (directory / "source.smt2").read_text() == SAT
    result = recheck(directory)
    assert len(manifest["clauses"]) == result.clauses == result.discharged["z3"]


def test_a_model_of_other_clauses_does_not_pass(tmp_path: Path) -> None:
    directory = saved(tmp_path, SAT)
    (directory / "source.smt2").write_text(SAT.replace("(< x 5)", "(< x 7)"))
    result = recheck(directory)
    assert result.verdict == "UNKNOWN"
    assert {p.code for p in result.problems} == {"evidence-changed", "proof-refuted"}


def test_a_changed_derivation_does_not_pass(tmp_path: Path) -> None:
    directory = saved(tmp_path, UNSAT)
    assert recheck(directory).steps == 4
    path = directory / "evidence.json"
    found = json.loads(path.read_text())
    found["refutation"]["steps"][1][1] = ["1"]
    path.write_text(json.dumps(found))
    result = recheck(directory)
    assert result.verdict == "UNKNOWN"
    assert [p.code for p in result.problems] == ["derivation-refuted"]
    assert result.problems[0].hint == "do not trust this evidence; verify it again"


def test_evidence_about_a_program_is_none_about_clauses(tmp_path: Path) -> None:
    directory = saved(tmp_path, SAT)
    (directory / "evidence.json").write_text(
        json.dumps({"answer": "violated", "refutation": {"kind": "trace"}})
    )
    with pytest.raises(InputError, match="does not fit the clauses"):
        recheck(directory)


def test_clauses_that_cannot_be_read_again_are_unknown(tmp_path: Path) -> None:
    directory = saved(tmp_path, UNSAT)
    (directory / "source.smt2").write_text("(declare-sort S 0)")
    result = recheck(directory)
    assert result.verdict == "UNKNOWN"
    assert [p.code for p in result.problems] == ["unsupported-sort"]

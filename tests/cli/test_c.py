"""C programs and task definitions on the command line, through the real Clang."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Certus, Done

PROGRAM = """\
extern int __VERIFIER_nondet_int(void);
void reach_error(void) {}
void stop(void) {}
int main(void) {
  int x = __VERIFIER_nondet_int();
  if (x == LIMIT) {
    reach_error();
  }
  if (sizeof(long) == 8) {
    stop();
  }
  return x / (x - 3);
}
"""
TASK = """\
format_version: '2.0'
input_files: prog.c
properties:
  - property_file: unreach-call.prp
    expected_verdict: {expected}
  - property_file: termination.prp
    expected_verdict: true
options:
  language: C
  data_model: ILP32
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a program that needs the macro LIMIT, a task and property files."""
    (tmp_path / "prog.c").write_text(PROGRAM)
    for name, formula in (
        ("unreach-call", "G ! call(stop())"),
        ("termination", "F end"),
        ("boredom", "G ! boredom"),
    ):
        (tmp_path / f"{name}.prp").write_text(f"CHECK( init(main()), LTL({formula}) )\n")
    (tmp_path / "task.yml").write_text(TASK.format(expected="true"))
    return tmp_path


def answer(done: Done) -> str:
    assert "Traceback" not in done.stderr
    words = (line.split()[0] for line in done.stdout.splitlines() if line.split())
    word = next(word for word in words if word in ("HOLDS", "VIOLATED", "UNKNOWN"))
    assert done.returncode == {"HOLDS": 0, "VIOLATED": 1, "UNKNOWN": 3}[word]
    return word


class TestQuestions:
    def test_a_program(self, place: Path, certus: Certus) -> None:
        done = certus("verify", "prog.c", "-D", "LIMIT=7", cwd=place)
        assert answer(done) == "VIOLATED"
        assert "prog.c:7:5: violated[reach-error]" in done.stdout

    def test_macros_and_standards_reach_clang(self, place: Path, certus: Certus) -> None:
        (place / "limits").mkdir()
        (place / "limits/limit.h").write_text("#define LIMIT 3000000000LL\n")
        (place / "prog.c").write_text('#include "limit.h"\n' + PROGRAM)
        asked = ("--checks", "assert")
        assert answer(certus("verify", "prog.c", "-Ilimits", "--std=c11", *asked, cwd=place)) == "HOLDS"
        flags = ("-I", "limits", "-D", "LIMIT", "-U", "LIMIT", "-std=c99")
        assert answer(certus("verify", "prog.c", *flags, *asked, cwd=place)) == "HOLDS"

    def test_the_default_question(self, place: Path, certus: Certus) -> None:
        done = certus("verify", "prog.c", "-DLIMIT=7", "--evidence", "saved", "--sarif", "log", cwd=place)
        assert answer(done) == "VIOLATED"
        lines = done.stdout.splitlines()
        first = {
            "prog.c:7: the error is reached: reach_error()",
            "prog.c:12: division by zero: x / (x - 3)",
            "prog.c:12: signed overflow: x - 3 is -2147483651, outside int",
        }
        assert {re.sub(r"-21474836\d\d,", "-2147483651,", line) for line in lines[:3]} == first
        holds = lines.index(next(line for line in lines if line.startswith("HOLDS  prog.c  memory, shift")))
        assert "  assuming: no integer is divided by zero (division: VIOLATED)" in lines[holds:]
        results = json.loads((place / "log").read_text())["runs"][0]["results"]
        assert sorted(each["ruleId"] for each in results) == ["division-by-zero", "overflow", "reach-error"]
        checked = certus("check", "saved", cwd=place)
        assert checked.returncode == 1
        assert checked.stdout.splitlines()[0] == "VIOLATED  saved"
        words = {line.split()[1]: line.split()[0] for line in checked.stdout.splitlines() if line[0] != " "}
        violated = dict.fromkeys(("assert", "overflow", "division"), "VIOLATED")
        assert words.items() >= {"saved": "VIOLATED", **violated, "memory": "HOLDS", "shift": "HOLDS"}.items()

    def test_kinds_of_checks(self, place: Path, certus: Certus) -> None:
        done = certus("verify", "prog.c", "-DLIMIT=7", "--checks", "shift,division", "--json", cwd=place)
        report = json.loads(done.stdout)
        assert (done.returncode, report["format"], report["verdict"]) == (1, 2, "VIOLATED")
        assert [each["kind"] for each in report["answers"]] == ["division", "shift"]
        assert report["finding"] == report["answers"][0]["finding"]
        assert report["answers"][1]["assuming"] == ["no integer is divided by zero (division: VIOLATED)"]
        for wrong in (("--checks", "boredom"), ("--checks", "assert", "--property", "no-overflow")):
            assert certus("verify", "prog.c", *wrong, cwd=place).returncode == 2
        assert certus("verify", "task.yml", "--checks", "assert", cwd=place).returncode == 2

    def test_a_property_file_names_the_error(self, place: Path, certus: Certus) -> None:
        flags = ("-DLIMIT=7", "--property", "unreach-call.prp")
        done = certus("verify", "prog.c", *flags, cwd=place)
        assert answer(done) == "VIOLATED"
        assert "stop()" in done.stdout
        assert answer(certus("verify", "prog.c", *flags, "--data-model", "ILP32", cwd=place)) == "HOLDS"

    @pytest.mark.parametrize(("name", "line"), [("no-div-zero", 12), ("no-overflow", 12)])
    def test_a_property_by_name(self, name: str, line: int, place: Path, certus: Certus) -> None:
        done = certus("verify", "prog.c", "-DLIMIT=7", "--property", name, cwd=place)
        assert answer(done) == "VIOLATED"
        assert f"prog.c:{line}:" in done.stdout

    def test_a_task(self, place: Path, certus: Certus) -> None:
        done = certus("verify", "task.yml", "-DLIMIT=7", cwd=place)
        assert answer(done) == "HOLDS"
        assert "expected" not in done.stdout

    def test_an_unexpected_answer_is_said_and_changes_nothing(self, place: Path, certus: Certus) -> None:
        (place / "task.yml").write_text(TASK.format(expected="false"))
        done = certus("verify", "task.yml", "-DLIMIT=7", cwd=place)
        assert answer(done) == "HOLDS"
        assert "\n  expected: false (the task file says so)\n" in done.stdout
        found = json.loads(certus("verify", "task.yml", "-DLIMIT=7", "--json", cwd=place).stdout)
        assert (found["verdict"], found["expected"]) == ("HOLDS", False)

    @pytest.mark.parametrize("arguments", [("prog.c", "--property", "no-data-race"), ("task.yml",)])
    def test_properties_that_are_not_supported(
        self, arguments: tuple[str, ...], place: Path, certus: Certus
    ) -> None:
        if arguments[0] == "task.yml":
            arguments = (*arguments, "--property", "termination")
        done = certus("verify", *arguments, cwd=place)
        assert answer(done) == "UNKNOWN"
        first, second, *_ = done.stdout.splitlines()
        assert "unsupported-property" in first
        assert f"The property {arguments[-1]} is not supported yet." in second

    def test_what_is_not_modelled_is_shown_in_its_line(self, place: Path, certus: Certus) -> None:
        (place / "prog.c").write_text("int main(void) {\n  __float128 d = 0.5;\n  return d * d < 0.3;\n}\n")
        done = certus("verify", "prog.c", cwd=place)
        assert answer(done) == "UNKNOWN"
        assert re.search(r"^prog\.c:[23]:\d+: unknown\[unsupported-float\]", done.stdout, re.MULTILINE)
        assert re.search(r"^    [23] \| .* d ", done.stdout, re.MULTILINE)

    def test_the_automaton(self, place: Path, certus: Certus) -> None:
        flags = ("-DLIMIT=7", "--data-model", "ILP32")
        done = certus("cfa", "prog.c", *flags, "--blocks", "single", cwd=place)
        assert done.returncode == 0
        assert "main:" in done.stdout
        assert "7" in done.stdout
        assert certus("cfa", "task.yml", "-DLIMIT=7", cwd=place).returncode == 0


class TestBadInput:
    def sentence(self, done: Done) -> str:
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        return done.stderr.splitlines()[0]

    @pytest.mark.parametrize(
        ("text", "start"),
        [
            (b"int main(void) {\n  if (1) {\n", "bad.c:2:11: error[clang-error]: expected"),
            (b"int main(void) {\n  // gr\xf6sser\n}\n", "bad.c:2:8: error[not-text]"),
            (b"int main(void) {\n  int x = \0;\n}\n", "bad.c:2:11: error[not-text]"),
            (b"#include <nowhere.h>\nint main(void) {}\n", "bad.c:1:10: error[clang-error]: 'nowhere.h'"),
            (b"int f(void) { return 0; }\n", "bad.c:1:1: error[no-main]: bad.c defines no function"),
            (b"", "bad.c:1:1: error[no-main]: bad.c defines no function"),
            (b"int main;\n", "bad.c:1:1: error[no-main]: bad.c defines no function"),
            (b'#include "own.h"\nint main(void) {}\n', "bad.c:1:10: error[clang-error]: 'own.h'"),
            (b"int main(void) { return 0; } /* no end", "bad.c:1:30: error[clang-error]: unterminated"),
            (b"int f(a, b) int c; { return a; }\nint main(void) {}\n", "bad.c:1:17: error[clang-error]"),
            (b"int main(void) { return y; }\n", "bad.c:1:25: error[clang-error]"),
            (b"main() { return f(1) -> x; }\n", "bad.c:1:25: error[clang-error]"),
        ],
    )
    def test_programs(self, text: bytes, start: str, place: Path, certus: Certus) -> None:
        (place / "bad.c").write_bytes(text)
        assert self.sentence(certus("verify", "bad.c", cwd=place)).startswith(start)

    def test_old_style_definitions_are_accepted(self, place: Path, certus: Certus) -> None:
        (place / "old.c").write_text("add(a, b) int a; { return a + b; }\nmain() { return add(1, 2); }\n")
        assert answer(certus("verify", "old.c", cwd=place)) == "HOLDS"

    @pytest.mark.parametrize(
        ("flags", "start"),
        [
            (("--property", "nothing.prp"), "error[cannot-read]: There is no file nothing.prp."),
            (("--property", "boredom.prp"), "boredom.prp:1:1: error[unknown-property]: "),
            (("--property", "boredom"), "error[unknown-property]: There is no property `boredom`."),
            (("--std=c0",), "error[clang-error]: invalid value 'c0'"),
        ],
    )
    def test_flags(self, flags: tuple[str, ...], start: str, place: Path, certus: Certus) -> None:
        done = certus("verify", "prog.c", "-DLIMIT=7", *flags, cwd=place)
        assert self.sentence(done).startswith(start)

    def test_a_data_model_that_is_none(self, place: Path, certus: Certus) -> None:
        done = certus("verify", "prog.c", "--data-model", "LP128", cwd=place)
        assert done.returncode == 2
        assert "LP128" in done.stderr

    def test_flags_for_c_with_another_language(self, place: Path, certus: Certus) -> None:
        (place / "prog.lp").write_text("void main() { assert(true); }\n")
        for flags in (("-DLIMIT=7",), ("--data-model", "LP64")):
            assert "not a C program" in self.sentence(certus("verify", "prog.lp", *flags, cwd=place))

    @pytest.mark.parametrize(
        ("old", "new", "start"),
        [
            ("prog.c", "other.c", "task.yml:2:14: error[cannot-read]: There is no input file other.c."),
            ("prog.c", "[prog.c, prog.c]", "task.yml:2:23: error[bad-task-file]: The input file prog.c"),
            ("prog.c", "prog.lp", "task.yml:2:14: error[cannot-read]: "),
            ("prog.c", "task.yml", "task.yml:2:14: error[bad-task-file]: The input file task.yml is a task"),
            ("termination.prp", "boredom.prp", "boredom.prp:1:1: error[unknown-property]: "),
            ("termination.prp", "nothing.prp", "task.yml:6:20: error[cannot-read]: "),
            ("termination.prp", "unreach-call.prp", "task.yml:6:5: error[contradictory-task]: "),
            ("ILP32", "LP32", "task.yml:10:15: error[bad-task-file]: There is no data model LP32."),
            ("properties:", "properties: {", "task.yml:4:"),
        ],
    )
    def test_task_files(self, old: str, new: str, start: str, place: Path, certus: Certus) -> None:
        (place / "task.yml").write_text(TASK.format(expected="false").replace(old, new, 1))
        done = certus("verify", "task.yml", "-DLIMIT=7", cwd=place)
        assert self.sentence(done).startswith(start)

    def test_as_json(self, place: Path, certus: Certus) -> None:
        done = certus("verify", "prog.c", "--json", cwd=place)
        assert done.returncode == 2
        found = json.loads(done.stdout)
        assert found["verdict"] is None
        assert (found["diagnostics"][0]["code"], found["diagnostics"][0]["line"]) == ("clang-error", 6)


@pytest.mark.parametrize(("flags", "word"), [(("--data-model", "ILP32"), "HOLDS"), ((), "VIOLATED")])
def test_saved_evidence_answers_the_same_question(
    flags: tuple[str, ...], word: str, place: Path, certus: Certus
) -> None:
    asked = ("-DLIMIT=7", "--property", "unreach-call.prp", *flags)
    assert answer(certus("verify", "prog.c", *asked, "--evidence", "saved", cwd=place)) == word
    done = certus("check", "saved", cwd=place)
    assert (done.returncode, done.stdout.split()[0]) == ({"HOLDS": 0, "VIOLATED": 1}[word], word)


def test_a_file_name_that_is_no_text(tmp_path: Path, certus: Certus) -> None:
    name = os.fsdecode(b"n\xff.c")
    (tmp_path / name).write_text("#include <assert.h>\nint main(void) {\n    assert(0);\n}\n")
    reports = ("--witness", "w.yml", "--sarif", "s.sarif", "--html", "h.html", "--evidence", "saved")
    done = certus("verify", name, "--property", "unreach-call", *reports, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["verdict"] == "VIOLATED"
    assert "n%FF.c" in (tmp_path / "s.sarif").read_text()
    assert "target" in (tmp_path / "w.yml").read_text()
    assert certus("check", "saved", cwd=tmp_path).returncode == 1

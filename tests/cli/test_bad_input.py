"""Bad input ends in a sentence and exit code 2, never in a traceback."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Certus, Done
from tests.sarif import faults


def sentence(done: Done) -> str:
    """The one sentence that was said, without the excerpt and the hint below it."""
    assert done.returncode == 2
    assert done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert all(re.match(r"  hint: | *\d* \| ", line) for line in rest)
    return first


@pytest.mark.parametrize("command", ["verify", "cfa"])
class TestFiles:
    def test_missing(self, command: str, certus: Certus, tmp_path: Path) -> None:
        text = sentence(certus(command, tmp_path / "no.lp"))
        assert text.startswith("error[cannot-read]: ")
        assert "no.lp" in text

    def test_directory(self, command: str, certus: Certus, tmp_path: Path) -> None:
        assert "is a directory" in sentence(certus(command, tmp_path))

    def test_binary(self, command: str, certus: Certus, tmp_path: Path) -> None:
        path = tmp_path / "binary.lp"
        path.write_bytes(bytes(range(256)) * 40)
        assert "error[not-text]" in sentence(certus(command, path))

    def test_another_encoding(self, command: str, certus: Certus, tmp_path: Path) -> None:
        path = tmp_path / "latin.lp"
        path.write_bytes("void main() {\n // größer\n}".encode("latin-1"))
        assert f"{path}:2:7: error[not-text]" in sentence(certus(command, path))

    @pytest.mark.parametrize("text", ["", "\n \t\n"])
    def test_empty(self, command: str, text: str, certus: Certus, tmp_path: Path) -> None:
        path = tmp_path / "empty.lp"
        path.write_text(text)
        done = certus(command, path)
        assert done.returncode == 2
        assert "error[" in done.stderr
        assert "Traceback" not in done.stderr

    def test_ten_megabytes(self, command: str, certus: Certus, tmp_path: Path) -> None:
        path = tmp_path / "large.lp"
        path.write_text("x = x + 1;\n" * 1_000_000)
        done = certus(command, path)
        assert done.returncode == 2
        assert "error[" in done.stderr
        assert len(done.stderr) < 100_000
        assert "Traceback" not in done.stderr

    def test_unreadable(self, command: str, certus: Certus, tmp_path: Path) -> None:
        path = tmp_path / "loop.lp"
        path.symlink_to(path)
        assert "error[cannot-read]" in sentence(certus(command, path))

    def test_another_language(self, command: str, certus: Certus, tmp_path: Path) -> None:
        path = tmp_path / "program.f90"
        path.write_text("program main\nend program\n")
        assert "program.f90" in sentence(certus(command, path))

    def test_deep_nesting(self, command: str, certus: Certus, tmp_path: Path) -> None:
        path = tmp_path / "deep.lp"
        path.write_text("void main() { int x; x = " + "(" * 20_000 + "1" + ")" * 20_000 + "; }")
        assert "Traceback" not in certus(command, path).stderr


@pytest.mark.parametrize("command", ["verify", "cfa"])
def test_a_syntax_error_is_shown_in_its_line(command: str, certus: Certus, tmp_path: Path) -> None:
    (tmp_path / "typo.lp").write_text("void main() {\n  int x;\n  x = 1 +;\n}\n")
    done = certus(command, "typo.lp", cwd=tmp_path)
    assert done.returncode == 2
    first, line, caret, *_ = done.stderr.splitlines()
    assert first.startswith("typo.lp:3:10: error[")
    assert line == "    3 |   x = 1 +;"
    assert caret.startswith("      |          ^")


def test_all_static_errors_are_shown(certus: Certus, tmp_path: Path) -> None:
    (tmp_path / "wrong.lp").write_text("void main() {\n  x = 1;\n  y = 2;\n  goto nowhere;\n}\n")
    done = certus("verify", "wrong.lp", cwd=tmp_path)
    assert done.returncode == 2
    assert [line.partition(": ")[0] for line in done.stderr.splitlines() if line.startswith("wrong.lp")] == [
        "wrong.lp:2:3",
        "wrong.lp:3:3",
        "wrong.lp:4:3",
    ]


def test_as_json(certus: Certus, tmp_path: Path) -> None:
    (tmp_path / "typo.lp").write_text("void main() {\n  int x;\n  x = 1 +;\n}\n")
    done = certus("verify", "typo.lp", "--json", cwd=tmp_path)
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert (found["file"], found["verdict"]) == ("typo.lp", None)
    assert (found["diagnostics"][0]["line"], found["diagnostics"][0]["column"]) == (3, 10)


def test_as_json_in_a_file(certus: Certus, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    done = certus("verify", tmp_path / "missing.lp", "--json", "-o", target)
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(target.read_text())["diagnostics"][0]["code"] == "cannot-read"


@pytest.mark.parametrize(
    ("options", "kind", "line"),
    [((), "toolExecutionNotifications", 3), (("--property", "no"), "toolConfigurationNotifications", None)],
)
def test_as_sarif_and_html(
    options: tuple[str, ...], kind: str, line: int | None, certus: Certus, tmp_path: Path
) -> None:
    """A report of an earlier run does not stay in its place."""
    (tmp_path / "typo.lp").write_text("void main() {\n  int x;\n  x = <b> +;\n}\n")
    done = certus("verify", "typo.lp", *options, "--sarif", "r.sarif", "--html", "r.html", cwd=tmp_path)
    first = sentence(done)
    log = json.loads((tmp_path / "r.sarif").read_text())
    assert faults(log) == []
    (run,) = log["runs"]
    (invocation,) = run["invocations"]
    assert (run["results"], invocation["executionSuccessful"], invocation["exitCode"]) == ([], False, 2)
    (note,) = invocation[kind]
    assert note["level"] == "error"
    assert note["message"]["text"].partition(" Hint: ")[0] in first
    places = [place["physicalLocation"]["region"]["startLine"] for place in note.get("locations", ())]
    assert places == ([line] if line else [])
    page = (tmp_path / "r.html").read_text()
    assert "nothing was verified" in page
    assert note["descriptor"]["id"] in page
    assert "<b>" not in page


def test_evidence_that_is_none(certus: Certus, tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing", Path(os.devnull)):
        done = certus("check", directory)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert done.stderr

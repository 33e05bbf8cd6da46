"""C programs in several files, from the question to reports, replay and saved evidence."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from certus.core.errors import InputError
from certus.core.outcome import Outcome, Replay
from certus.report.html.page import render_html
from certus.report.json import outcome_json
from certus.report.sarif import sarif_log
from certus.report.text import render_text
from certus.run.recheck import recheck
from certus.run.settings import Settings
from certus.run.verify import verify
from certus.witness.write.render import witness_of

HEADER = "int __VERIFIER_nondet_int(void);\nint next(int);\nextern int total;\n"
FIRST = """#include "next.h"
void reach_error(void);
static int step(int x) { return x + 1; }
int main(void) {
  int n = __VERIFIER_nondet_int();
  if (n < 0 || n > 100)
    return 0;
  total = step(n);
  if (next(n) + total == LIMIT)
    reach_error();
  return 0;
}
"""
SECOND = """#include "next.h"
int total;
static int step(int x) { return 2 * x; }
int next(int x) {
  if (x > 3)
    return step(x);
  return total;
}
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "src" / "first.c", tmp_path / "src" / "more" / "second.c"]
    paths[1].parent.mkdir(parents=True)
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "next.h").write_text(HEADER)
    for path, text in zip(paths, (FIRST, SECOND), strict=True):
        path.write_text(text)
    return paths


def verified(files: list[Path], limit: int, evidence: Path | None = None) -> Outcome:
    flags = (f"-I{files[0].parents[1]}/include", f"-DLIMIT={limit}")
    asked = Settings(property_name="unreach-call", timeout=60, clang_arguments=flags, evidence=evidence)
    return verify(list(map(str, files)), asked)


def test_a_violation_in_several_files(files: list[Path], tmp_path: Path) -> None:
    found = verified(files, 61, tmp_path / "kept")  # 3 * 20 + 1
    assert found.answer == "VIOLATED"
    assert isinstance(found.check, Replay)
    assert found.check.compiled == "confirmed"
    report = render_text(found)
    assert report.startswith(f"VIOLATED  {files[0]}, {files[1]}  unreach-call")
    assert "second.c:6    return step(x)" in report
    assert "calls step, which matters at line 3 of second.c" in report
    assert "step$2" not in report
    assert outcome_json(found)["files"] == list(map(str, files))
    (run,) = sarif_log(found, exit_code=1)["runs"]
    assert [each["location"]["uri"] for each in run["artifacts"]] == [file.as_uri() for file in files]
    page = render_html(found)
    assert 'class="line met matters" id="L2.6"' in page
    assert 'id="L2.7"' in page
    told = witness_of(found)
    assert not isinstance(told, str)
    assert told[0].task.files == tuple(map(str, files))
    assert list(told[0].task.hashes.values()) == [sha256(file.read_bytes()).hexdigest() for file in files]
    result = recheck(tmp_path / "kept", execute=True)
    assert result.verdict == "VIOLATED"
    assert "confirmed" in result.native


def test_a_proof_about_several_files_is_saved_with_all_of_them(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("certus.check.challenge.native.SECONDS", 30.0)  # all runs, on a busy machine too
    directory = tmp_path / "kept"
    found = verified(files, 62, directory)
    assert found.answer == "HOLDS"
    assert found.challenge is not None
    assert found.challenge.compared == 256
    manifest = json.loads((directory / "manifest.json").read_text())
    names = ["source/src/first.c", "source/src/more/second.c"]
    assert [each["file"] for each in manifest["sources"]] == names
    assert [each["original"] for each in manifest["sources"]] == ["first.c", "second.c"]
    assert list(manifest["headers"]) == ["source/include/next.h"]
    for file in (*files, tmp_path / "include" / "next.h"):
        file.unlink()  # the evidence needs nothing else
    assert recheck(directory).verdict == "HOLDS"
    second = directory / names[1]
    second.write_text(second.read_text() + "\n")
    result = recheck(directory)
    assert result.verdict == "UNKNOWN"
    assert f"{names[1]} is not the one that was verified" in result.problems[0].message


def test_an_error_function_that_each_file_defines_for_itself(files: list[Path]) -> None:
    own = "static void reach_error(void) { }\n"
    files[0].write_text(own + "int f(int);\nint main(void) { f(3); reach_error(); return 0; }\n")
    files[1].write_text(own + "int f(int x) { if (x > 5) reach_error(); return x; }\n")
    found = verify(files, Settings(timeout=60))
    assert found.answer == "VIOLATED"
    assert isinstance(found.check, Replay)
    assert found.check.compiled == "confirmed"


def test_an_inline_function_without_external_definition(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "include" / "next.h").write_text(
        "void reach_error(void);\ninline int f(void) { return 4; }\n"
    )
    files[0].write_text(
        '#include "next.h"\nint g(void);\nint main(void) { if (f() + g() == 8) reach_error(); }\n'
    )
    files[1].write_text('#include "next.h"\nint g(void) { return f(); }\n')
    found = verified(files, 0)
    assert found.answer == "VIOLATED"
    assert isinstance(found.check, Replay)
    assert found.check.compiled == "confirmed"


def test_files_that_do_not_fit(files: list[Path]) -> None:
    files[1].write_text(SECOND + "int main(void) { return 1; }\n")
    with pytest.raises(InputError) as caught:
        verified(files, 3)
    first, second = caught.value.diagnostics
    assert (first.code, str(first.span)) == ("defined-twice", f"{files[0]}:4:5")
    assert (second.code, str(second.span)) == ("defined-twice", f"{files[1]}:9:5")
    files[1].write_text(SECOND.replace("int total", "long total").replace('#include "next.h"', ""))
    found = verified(files, 3)
    assert found.answer == "UNKNOWN"
    assert "declared-otherwise" in render_text(found)


def test_nothing_to_verify() -> None:
    with pytest.raises(InputError, match="no file"):
        verify([])

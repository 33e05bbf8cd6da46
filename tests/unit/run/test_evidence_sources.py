"""Evidence of programs with headers of their own needs nothing outside its directory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from certus import InputError, Settings, recheck, verify

SOURCE = """\
#include <limits.h>
#include "near.h"
#include "shared/far.h"
int main(void) {
  int x = __VERIFIER_nondet_int();
  if (x > 0 && x < LIMIT && near(x) > FAR)
    reach_error();
  return 0;
}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project: a program, a header beside it, and one that only `-I` finds and that includes another."""
    (tmp_path / "src").mkdir()
    (tmp_path / "my include" / "shared").mkdir(parents=True)
    (tmp_path / "src" / "prog.c").write_text(SOURCE)
    (tmp_path / "src" / "near.h").write_text("static int near(int x) { return x + 1; }\n")
    (tmp_path / "my include" / "shared" / "far.h").write_text('#include "../deep.h"\n')
    (tmp_path / "my include" / "deep.h").write_text(
        "#define FAR LIMIT\nint __VERIFIER_nondet_int(void);\nvoid reach_error(void);\n"
    )
    return tmp_path


def evidence(place: Path) -> Path:
    """Saved evidence; the program and its headers are gone."""
    flags = (f"-I{place / 'my include'}", "-I/nowhere", "-DLIMIT=9")
    settings = Settings(
        engine="bmc", property_name="unreach-call", clang_arguments=flags, evidence=place / "saved"
    )
    outcome = verify(place / "src" / "prog.c", settings)
    assert outcome.answer == "HOLDS"
    shutil.rmtree(place / "src")
    shutil.rmtree(place / "my include")
    return (place / "saved").rename(place / "elsewhere")


def test_it_checks_again_without_the_headers(place: Path) -> None:
    directory = evidence(place)
    result = recheck(directory)
    assert (result.verdict, result.problems) == ("HOLDS", ())
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["sources"][0]["file"] == "source/src/prog.c"
    assert [*manifest["headers"]] == [
        "source/my include/deep.h",
        "source/my include/shared/far.h",
        "source/src/near.h",
    ]
    assert manifest["clang_arguments"] == ["-Isource/my include", "-DLIMIT=9"]


def test_a_changed_header_does_not_pass(place: Path) -> None:
    directory = evidence(place)
    (directory / "source" / "src" / "near.h").write_text("static int near(int x) { return x + 2; }\n")
    result = recheck(directory)
    assert result.verdict == "UNKNOWN"
    assert "near.h" in " ".join(problem.message for problem in result.problems)


def test_evidence_cannot_give_other_flags_to_clang(place: Path) -> None:
    directory = evidence(place)
    manifest = json.loads((directory / "manifest.json").read_text())
    given = manifest["clang_arguments"]
    for flag in ("-fplugin=evil.so", "-I/etc", "-Isource/../..", "@flags", "other.c"):
        manifest["clang_arguments"] = [*given, flag]
        (directory / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match="flags for Clang"):
            recheck(directory)


def test_a_source_alone_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "prog.c").write_text("#include <stdlib.h>\nint main(void) { return abs(-1); }\n")
    asked = Settings(
        property_name="unreach-call", evidence=tmp_path / "saved", clang_arguments=("-Ianywhere",)
    )
    verify(tmp_path / "prog.c", asked)
    manifest = json.loads((tmp_path / "saved" / "manifest.json").read_text())
    assert [source["file"] for source in manifest["sources"]] == ["source.c"]
    assert (manifest["headers"], manifest["clang_arguments"]) == ({}, [])
    assert recheck(tmp_path / "saved").verdict == "HOLDS"

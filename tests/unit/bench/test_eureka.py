"""`scripts/bench_linear.py`: the library in C, and the column of CBMC, which exists only if CBMC does."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.bench_linear import as_c

from certus.frontend.lp.library import program
from certus.run.settings import Settings
from certus.run.verify import verify

SCRIPT = "scripts/bench_linear.py"


def measured(path: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path}
    command = [sys.executable, SCRIPT, "--limit", "20", "--largest", "2", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_column_of_cbmc(tmp_path: Path) -> None:
    tool, rows = tmp_path / "cbmc", tmp_path / "rows.csv"
    tool.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "assert '--unwinding-assertions' in sys.argv and 'nondet_int' in open(sys.argv[-1]).read()\n"
        "print('VERIFICATION SUCCESSFUL')\n"
    )
    tool.chmod(0o755)
    done = measured(f"{tmp_path}:{os.environ['PATH']}", "--series", "cbmc", "--rows", str(rows), "swap_seq")
    assert done.returncode == 0, done.stderr
    with rows.open(newline="") as file:
        found = [row[:4] for row in csv.reader(file)][1:]
    assert found == [["swap_seq", "cbmc", "1", "HOLDS"], ["swap_seq", "cbmc", "2", "HOLDS"]]


def test_without_cbmc_there_is_no_column(tmp_path: Path) -> None:
    assert "invalid choice: 'cbmc'" in measured(str(tmp_path), "--series", "cbmc", "swap_seq").stderr


@pytest.mark.parametrize("family", ["swap_iter", "even_odd", "pour", "walk"])
def test_the_programs_in_c_mean_the_same(family: str, tmp_path: Path) -> None:
    declared = "extern void abort(void);\nextern void reach_error(void);\n"
    for buggy in (False, True):
        text = as_c(program(family, 2, buggy=buggy)).replace("#include <assert.h>\n", declared)
        text = text.replace("#define assume(condition) __CPROVER_assume(condition)", _MACROS)
        file = tmp_path / f"{family}_{buggy}.c"
        file.write_text(text.replace("nondet_int", "__VERIFIER_nondet_int"))
        outcome = verify(file, Settings(property_name="unreach-call", engine="bmc", execute=False))
        assert outcome.answer == ("VIOLATED" if buggy else "HOLDS"), text


_MACROS = """#define assert(condition) do { if (!(condition)) reach_error(); } while (0)
#define assume(condition) do { if (!(condition)) abort(); } while (0)"""

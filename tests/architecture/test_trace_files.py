"""A verification passes through few files, and the parent process imports few modules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A reader follows a C program through the source: these numbers only go down.
FILES_OF_A_RUN = 75
FILES_OF_A_PROOF = 99
MODULES = 119
WITHOUT_INPUTS = """
#include <assert.h>
static int next(int x) { return x + 1; }
int main(void) {
    int i = 0;
    while (i < 3) i = next(i);
    assert(i == 3);
}
"""


def traced(*options: str) -> str:
    """Run the tracer, which fails beyond its limits, and return what it prints."""
    command = [sys.executable, "scripts/trace_files.py", "--modules", str(MODULES), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("HOLDS  ")
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_loop_and_a_function_by_execution(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(WITHOUT_INPUTS)
    traced(str(path), "--files", str(FILES_OF_A_RUN))


def test_a_loop_and_a_function_for_all_inputs() -> None:
    text = traced("--files", str(FILES_OF_A_PROOF), "--list", "--", "--engine", "bmc")
    assert re.search(r"^ +\d+  engines/bmc/engine\.py$", text, re.MULTILINE), "children are traced"

"""A verification passes through few files, and the parent process imports few modules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A reader follows one C program through the source: these numbers only go down (floating point added five).
FILES = 130
MODULES = 124


def test_a_program_with_a_loop_and_a_function() -> None:
    options = ["--files", str(FILES), "--modules", str(MODULES), "--list", "--", "--engine", "bmc"]
    command = [sys.executable, "scripts/trace_files.py", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("HOLDS  ")
    assert re.search(r"^ +\d+  engines/bmc/engine\.py$", done.stdout, re.MULTILINE), "children are traced"
    assert done.returncode == 0, done.stdout

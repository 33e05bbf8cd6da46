"""The command line as a user meets it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
COMMAND = [sys.executable, "-m", "certus"]

Done = subprocess.CompletedProcess[str]
Certus = Callable[..., Done]


@pytest.fixture
def certus() -> Certus:
    """Run `certus` with arguments, in the root of the project unless told otherwise."""

    def run(*arguments: str | Path, cwd: Path = ROOT) -> Done:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            cwd=cwd,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )

    return run


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A program that unrolling cannot decide: it keeps an engine busy until it is stopped."""
    path = tmp_path / "endless.lp"
    path.write_text(
        "void main() {\n"
        "  int n = *;\n"
        "  int x = 0;\n"
        "  assume(n >= 0);\n"
        "  while (x < n) {\n"
        "    x = x + 1;\n"
        "  }\n"
        "  assert(x == n);\n"
        "}\n"
    )
    return path

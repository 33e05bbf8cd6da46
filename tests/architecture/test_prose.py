"""scripts/prose.py finds unclear phrases where people read them, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def problems(path: Path) -> list[str]:
    command = [sys.executable, "scripts/prose.py", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    *lines, summary = done.stdout.splitlines()
    assert done.returncode == (1 if lines else 0), done.stderr
    assert summary.startswith(f"{len(lines)} phrases in ")
    return [line.removeprefix(f"{path}:") for line in lines]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.py", "x = 1\n# a value that\n# nobody reads\n", ["3: 'nobody'"]),
        ("a.py", '"""Do this.\n\n    The solver is\n    told so."""\n', ["3: 'is told'"]),
        ("a.py", "x = f'the solver who answers in {y}'\n", ["1: 'who'"]),
        ("a.c", "/* a\n * process apart */ int apart; // behavior\n", ["2: 'apart'", "2: 'behavior'"]),
        ("a.md", "The behavior of `behavior` is\n\n    behavior\n", ["1: 'behavior'"]),
        ("a.md", "People who read, there is no error, apart from this.\n", []),
        ("a.py", "nobody = who = behavior = apart  # users who write\n", []),
    ],
)
def test_phrases_are_found_at_their_lines(name: str, text: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert [line.rsplit(": ", 1)[0] for line in problems(path)] == expected

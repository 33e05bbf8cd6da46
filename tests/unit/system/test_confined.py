"""Programs run under limits."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from certus.system.confined import run_confined


def script(directory: Path, body: str) -> Path:
    """A program of Python text; the limits count for it, too."""
    program = directory / "script"
    program.write_text(f"#!{sys.executable} -IS\n{body}\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("raise SystemExit(7)", 7),
        ("import os; os.kill(os.getpid(), 6)", -6),
        ("import os; raise SystemExit(len(os.environ.keys() - {'LC_CTYPE'}))", 0),
        ("import sys; raise SystemExit(len(sys.stdin.read()))", 0),
        ("import os; raise SystemExit(os.listdir() == ['script'])", 1),
    ],
)
def test_how_a_program_ends(body: str, code: int, tmp_path: Path) -> None:
    ended = run_confined(script(tmp_path, body), directory=tmp_path, seconds=20, memory=1 << 30)
    assert ended.code == code


def test_no_file_is_written(tmp_path: Path) -> None:
    body = "import os; os.write(os.open('made', os.O_CREAT | os.O_WRONLY), b'x')"
    ended = run_confined(script(tmp_path, body), directory=tmp_path, seconds=20, memory=1 << 30)
    assert ended.code == 1
    assert (tmp_path / "made").read_bytes() == b""


def test_time_ends_it(tmp_path: Path) -> None:
    ended = run_confined(
        script(tmp_path, "while True: pass"), directory=tmp_path, seconds=1.5, memory=1 << 30
    )
    assert (ended.code, ended.limit) == (None, "1.5 s")

"""External tools: how they are found, run without an environment, and ended at their limits."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from certus.system.tools import ToolFailed, find_tool, run_confined, run_tool


def tool(name: str) -> Path:
    path = find_tool(name)
    assert path is not None
    return path


def test_a_tool_that_is_not_there() -> None:
    assert find_tool("certus-no-such-tool") is None


def test_input_output_and_errors() -> None:
    result = run_tool(tool("sh"), ["-c", "cat; echo complaint >&2; exit 3"], standard_input=b"text")
    assert (result.code, result.output, result.errors) == (3, b"text", b"complaint\n")


def test_arguments_meet_no_shell() -> None:
    result = run_tool(tool("printf"), ["%s", "$HOME; ls *"])
    assert result.output == b"$HOME; ls *"


def test_no_environment_and_an_empty_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    assert b"SECRET" not in run_tool(tool("env")).output
    assert run_tool(tool("ls"), ["-A"]).output == b""


def test_a_slow_tool_is_ended() -> None:
    start = time.monotonic()
    with pytest.raises(ToolFailed, match="did not finish"):
        run_tool(tool("sleep"), ["60"], seconds=0.3)
    assert time.monotonic() - start < 20


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

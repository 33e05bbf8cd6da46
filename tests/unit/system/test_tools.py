"""External tools: how they are found, run without an environment, and ended at their limits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from certus.system.tools import ToolFailed, find_tool, run_tool


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

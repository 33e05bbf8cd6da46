"""The tool-info module in the hands of the real BenchExec."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchexec.tools.template import BaseTool2
from benchexec.util import ProcessExitCode

from certus.bench.benchexec import Tool

ROOT = Path(__file__).parents[3]
NONE = BaseTool2.ResourceLimits()


def task(*files: str, prp: str | None = None, options: dict[str, str] | None = None) -> BaseTool2.Task:
    return BaseTool2.Task.with_files(files, property_file=prp, options=options)


def read(*lines: str) -> str:
    output = BaseTool2.RunOutput([f"{line}\n" for line in lines])
    return Tool().determine_result(BaseTool2.Run([], ProcessExitCode.create(value=0), output, None))


def test_the_command_line_has_all_that_the_task_says() -> None:
    limits = BaseTool2.ResourceLimits(cputime=900, memory=15_000_000_000, cpu_cores=4)
    asked = task("x.c", prp="p.prp", options={"language": "C", "data_model": "ILP32"})
    words = Tool().cmdline("certus", ["--engine", "bmc"], asked, limits)
    assert words[:4] == ["certus", "verify", "--engine", "bmc"]
    assert words[-1] == "x.c"
    given = dict(zip(words[4:-1:2], words[5:-1:2], strict=True))
    assert given == {
        "--property": "p.prp",
        "--data-model": "ILP32",
        "--timeout": "900s",
        "--cpu-time": "900s",
        "--memory": "15000000000",
        "--cores": "4",
    }


def test_an_option_of_the_user_comes_before_a_limit() -> None:
    limits = BaseTool2.ResourceLimits(walltime=60)
    words = Tool().cmdline("certus", ["--timeout", "5s"], task("x.c"), limits)
    assert words == ["certus", "verify", "--timeout", "5s", "--property", "unreach-call", "x.c"]


def test_all_files_of_a_task_are_given() -> None:
    words = Tool().cmdline("certus", [], task("x.c", "y.c"), NONE)
    assert words == ["certus", "verify", "--property", "unreach-call", "x.c", "y.c"]


def test_the_property_of_competitions_is_the_default_for_c_only() -> None:
    assert "--property" not in Tool().cmdline("certus", [], task("x.smt2"), NONE)
    words = Tool().cmdline("certus", ["--checks", "assert"], task("x.c"), NONE)
    assert words == ["certus", "verify", "--checks", "assert", "x.c"]


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("HOLDS  a b.c  unreach-call  (bmc, 1.31 s)", "true"),
        ("HOLDS  a.c  unreach-call  it has no call of f  (bmc, 1.31 s)", "true"),
        ("VIOLATED  a.c  unreach-call  (bmc, 1.31 s)", "false(unreach-call)"),
        ("VIOLATED  a  b (c).c  no-overflow  (bmc, 1.31 s)", "false(no-overflow)"),
        ("VIOLATED  a.smt2  check-sat  (spacer, 1.31 s)", "false"),
        ("UNKNOWN  a.c  unreach-call  time-limit  (bmc, 2 s)", "TIMEOUT"),
        ("UNKNOWN  a.c  unreach-call  cpu-limit  (auto, 2 s)", "TIMEOUT"),
        ("UNKNOWN  a.c  unreach-call  memory-limit  (bmc, 2 s)", "OUT OF MEMORY"),
        ("UNKNOWN  a.c  unreach-call  bound-reached  (bmc, 2 s)", "unknown (bound-reached)"),
        ("certus: internal error", "ERROR"),
    ],
)
def test_the_verdict_in_the_words_of_competitions(line: str, result: str) -> None:
    assert read(line, "  checked: HOLDS  everything  we  (like)") == result


def test_benchexec_accepts_the_module(tmp_path: Path) -> None:
    """BenchExec's own check of tool-info modules, with a real run's output and a task definition."""
    program, definition = tmp_path / "bin" / "certus", tmp_path / "task.yml"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m certus "$@"\n')
    program.chmod(0o755)
    (tmp_path / "p.prp").write_text("CHECK( init(main()), LTL(G ! call(reach_error())) )\n")
    (tmp_path / "x.c").write_text("int main(void) { return 0; }\n")
    definition.write_text(
        "format_version: '2.0'\ninput_files: x.c\nproperties:\n  - property_file: p.prp\n"
        "    expected_verdict: true\noptions: {language: C, data_model: LP64}\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    answer = subprocess.run(
        [program, "verify", definition], env=environment, capture_output=True, text=True, check=True
    )
    (tmp_path / "output.txt").write_text(answer.stdout)
    words = ["--no-container", "--tool-directory", ".", "--tool-output", "output.txt"]
    words += ["--task-definition", "task.yml"]
    done = subprocess.run(
        [sys.executable, "-m", "benchexec.test_tool_info", "certus.bench.benchexec", *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    said = done.stdout + done.stderr
    assert "WARNING" not in said
    assert "--data-model" in said
    assert said.rstrip().endswith("“true”")

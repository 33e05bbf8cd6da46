"""`certus bench` as a user meets it: runs, resumes, is interrupted, uses a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import COMMAND, ENVIRONMENT, Certus

PROGRAM = """extern void reach_error(void);
extern int __VERIFIER_nondet_int(void);
int main(void) {{
  int x = __VERIFIER_nondet_int();
  if ({condition}) reach_error();
  return 0;
}}
"""
DEFINITION = """format_version: '2.0'
input_files: {name}.c
properties:
  - property_file: p.prp
    expected_verdict: {expected}
options: {{language: C, data_model: ILP32}}
"""


def write_task(directory: Path, name: str, condition: str, expected: bool) -> None:
    (directory / "p.prp").write_text("CHECK( init(main()), LTL(G ! call(reach_error())) )\n")
    (directory / f"{name}.c").write_text(PROGRAM.format(condition=condition))
    (directory / f"{name}.yml").write_text(DEFINITION.format(name=name, expected=str(expected).lower()))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    directory = tmp_path / "suite"
    directory.mkdir()
    write_task(directory, "safe", "x > 3 && x < 3", True)
    write_task(directory, "unsafe", "x > 3", False)
    return directory


def rows_in(output: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (output / "rows.jsonl").read_text().splitlines()]


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_engine_and_a_tool_in_one_run_that_is_taken_up_again(
    tasks: Path, tmp_path: Path, certus: Certus
) -> None:
    output = tmp_path / "out"
    words = [
        "bench",
        tasks,
        "--timeout",
        "60s",
        "-o",
        output,
        "--engine",
        "bmc",
        "--jobs",
        "2",
        "--cores",
        "1",
    ]
    first = certus(*words)
    assert first.returncode == 0, first.stderr
    line = dict(zip(*(text.split() for text in first.stdout.splitlines()[:2]), strict=False))
    assert line | {"contestant": "bmc", "tasks": "2", "correct": "2", "wrong": "0"} == line
    second = certus(*words, "--tool", "yes=echo TRUE {file}")
    assert second.returncode == 1
    assert f"WRONG: yes says true, expected false: {tasks}/unsafe.yml (unreach-call)" in second.stdout
    rows = rows_in(output)
    assert Counter(str(row["contestant"]) for row in rows) == {"bmc": 2, "yes": 2}
    assert {str(row["engine"]) for row in rows} == {"bmc", ""}
    assert (output / "results.csv").read_text().count("\n") == 5
    assert [each["score"] for each in json.loads((output / "results.json").read_text())["contestants"]] == [
        3,
        -30,
    ]
    assert "<svg" in (output / "index.html").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--engine", "magic"], "there is no engine 'magic'"),
        (["--tool", "cbmc"], "does not say what to run"),
        (["--property", "beauty"], "There is no property `beauty`"),
        (["--holds", "x=y"], "there is no --tool 'x'"),
        (["--holds", "x"], "not of the form NAME=REGEX"),
        (["nowhere"], "there is no file nowhere"),
        (["--cluster", "tcp://127.0.0.1:1"], "cannot connect to a scheduler at tcp://127.0.0.1:1"),
    ],
)
def test_usage(words: list[str], sentence: str, tasks: Path, certus: Certus) -> None:
    done = certus("bench", tasks, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interruption_leaves_rows_and_no_processes(number: int, tasks: Path, tmp_path: Path) -> None:
    started, output = tmp_path / "started", tmp_path / "out"
    script = f"case {{file}} in */safe.c) echo TRUE;; *) echo $$ >{started}; exec sleep 600;; esac"
    words = [
        "bench",
        tasks,
        "-o",
        output,
        "--timeout",
        "600s",
        "--jobs",
        "1",
        "--tool",
        f'slow=sh -c "{script}"',
    ]
    with subprocess.Popen(
        [*COMMAND, *map(str, words)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as bench:
        try:
            wait_until(lambda: started.exists() and started.read_text().endswith("\n"))
            bench.send_signal(number)
            said, _ = bench.communicate(timeout=60)
        finally:
            bench.kill()
    assert [row["answer"] for row in rows_in(output)] == ["true"]
    process = int(started.read_text())
    wait_until(lambda: not Path(f"/proc/{process}").exists())
    if number == signal.SIGINT:
        assert bench.returncode == 3
        assert "1 of 2 runs are missing; the same command continues with them" in said


# ---------------------------------------------------------------------------------------- a cluster


@contextmanager
def started(*words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", *map(str, words)],
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_worker_of_a_cluster_dies_and_no_run_is_lost_or_counted_twice(tmp_path: Path) -> None:
    suite, output, log = tmp_path / "suite", tmp_path / "out", tmp_path / "log"
    suite.mkdir()
    log.touch()
    for number in range(8):
        write_task(suite, f"t{number}", "0", True)
    address = tmp_path / "scheduler.json"
    here = ("--host", "127.0.0.1", "--no-dashboard")
    worker = (
        "distributed.cli.dask_worker",
        "--scheduler-file",
        address,
        "--no-nanny",
        "--nthreads",
        "1",
        *here,
    )
    scheduler = ("distributed.cli.dask_scheduler", "--scheduler-file", address, "--port", "0", *here)
    # A run says which worker it is on: the parent of the supervisor, which is the parent of the shell.
    script = f"set -- $(ps -o ppid= -p $PPID); echo $1 {{file}} >>{log}; sleep 1; echo TRUE"
    with started(*scheduler):
        wait_until(lambda: address.exists() and address.read_text().rstrip().endswith("}"))
        with (
            started(*worker, "--local-directory", tmp_path / "a") as first,
            started(*worker, "--local-directory", tmp_path / "b") as second,
        ):
            words = ["bench", suite, "--cluster", json.loads(address.read_text())["address"], "-o", output]
            bench = subprocess.Popen(
                [*COMMAND, *map(str, words), "--tool", f'slow=sh -c "{script}"'],
                env=ENVIRONMENT,
                stdout=subprocess.PIPE,
                text=True,
            )
            workers = {str(first.pid): first, str(second.pid): second}
            with bench:
                wait_until(lambda: set(workers) <= {line.split()[0] for line in log.read_text().splitlines()})
                victim = log.read_text().splitlines()[-1].split()[0]
                os.kill(workers[victim].pid, signal.SIGKILL)
                said, _ = bench.communicate(timeout=90)
    assert bench.returncode == 0, said
    begun = Counter(line.split()[1] for line in log.read_text().splitlines())
    assert len(begun) == 8
    assert begun.total() > 8  # the run that died with its worker was begun again
    rows = rows_in(output)
    assert Counter(str(row["task"]) for row in rows) == Counter(str(p) for p in suite.glob("*.yml"))
    assert {row["answer"] for row in rows} == {"true"}

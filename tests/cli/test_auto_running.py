"""Long runs of `auto`: its limits hold for all its processes, and whatever ends it leaves none behind."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.conftest import COMMAND, ENVIRONMENT, ROOT, Certus

HARD = """
void main() {
  int x = *; int y = *; int n = *;
  assume(x >= 0 && y >= 0 && n > 3);
  int i = 0; int s = 0;
  while (i < n) { s = s + x * y; i = i + 1; if (*) { x = x + y; } }
  assert(s * s + n != 17 * x + 3 || s != 1234567);
}
"""


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    """A program that no engine decides soon."""
    path = tmp_path / "hard.lp"
    path.write_text(HARD)
    return path


def wait_for(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def children(process: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@contextmanager
def two_at_work(program: Path, *options: str) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A run of `auto` with two engines under way."""
    words = [*COMMAND, "verify", str(program), "--cores", "2", "--json", *options]
    environment = {**ENVIRONMENT, "TMPDIR": str(program.parent)}  # SIGKILL leaves temporary files
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as process:
        wait_for(lambda: len(children(process.pid)) == 2)
        yield process, children(process.pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_orphans(number: signal.Signals, hard: Path) -> None:
    with two_at_work(hard) as (process, engines):
        process.send_signal(number)
        sent = time.monotonic()
        out, _ = process.communicate(timeout=30)
        assert time.monotonic() - sent < 20  # the promise is one second
    wait_for(lambda: not any(map(alive, engines)))
    if number == signal.SIGINT:
        assert process.returncode == 3
        assert json.loads(out)["reason"]["code"] == "interrupted"
    else:
        assert process.returncode == -number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_temporary_files_are_left_of_a_compiler(number: signal.Signals, tmp_path: Path) -> None:
    started, place, compiler = tmp_path / "started", tmp_path / "temporary", tmp_path / "clang"
    place.mkdir()
    compiler.write_text(f"#!/bin/sh\necho > {started}\nsleep 60\n")
    compiler.chmod(0o755)
    environment = {**ENVIRONMENT, "TMPDIR": str(place), "CERTUS_CLANG": str(compiler)}
    words = [*COMMAND, "verify", "examples/bisect.c"]
    with subprocess.Popen(words, env=environment, cwd=ROOT, stdout=subprocess.PIPE) as process:
        wait_for(started.exists)
        assert len(list(place.iterdir())) == 1
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == (3 if number == signal.SIGINT else -number)
    assert list(place.iterdir()) == []


def test_a_killed_engine_costs_only_itself(hard: Path) -> None:
    with two_at_work(hard, "--timeout", "6s", "--engines", "bmc,predicate") as (process, engines):
        os.kill(engines[0], signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
    found = json.loads(out)
    assert process.returncode == 3
    told = [found["reason"], *found["diagnostics"]]
    assert {each["message"].split()[0].rstrip(":") for each in told} == {"bmc", "predicate"}
    assert "time-limit" in {each["code"] for each in told}
    assert not any(map(alive, engines))


def spent() -> float:
    """CPU seconds of all processes that we have waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_a_trivial_program_costs_little_more_than_by_one_engine(certus: Certus) -> None:
    costs = []
    for engine in ("bmc", "auto"):
        before = spent()
        assert certus("verify", "examples/gcd_bug.lp", "--engine", engine).returncode == 1
        costs.append(spent() - before)
    assert costs[1] < costs[0] + 2  # the promise is 0.3


def test_the_limit_on_cpu_time_counts_all_processes(certus: Certus, hard: Path) -> None:
    before = spent()
    done = certus("verify", hard, "--cpu-time", "3s", "--cores", "2", "--json")
    assert 1 < spent() - before < 9  # the promise is 4
    found = json.loads(done.stdout)
    assert found["reason"]["code"] == "cpu-limit"
    assert "--cpu-time 15s" in found["reason"]["hint"]


def test_the_parent_loads_no_solver() -> None:
    script = (
        "import sys, certus; certus.verify('examples/gcd_bug.lp'); certus.verify('tests/cli/triangle.lp');"
        "maps = open('/proc/self/maps').read();"
        "names = ('libz3', 'cvc5', 'islpy', 'highspy');"
        "print([name for name in names if name in maps or name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"

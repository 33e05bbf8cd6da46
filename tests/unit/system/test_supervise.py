"""Supervised commands: limits hold for all they start, and nothing stays behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from certus.system.supervise import Ended, Supervised

# Starts a grandchild in a session of its own, whose parent ends at once; it writes its number and sleeps.
ESCAPE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open(sys.argv[1] + '.new', 'w') as stream:
            stream.write(str(os.getpid()))
        os.rename(sys.argv[1] + '.new', sys.argv[1])
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(float(sys.argv[2]))
"""


def run(*words: str, seconds: float = 60.0, memory: int | None = None) -> Ended:
    return Supervised(words, seconds=seconds, memory=memory).result()


def python(text: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text, *words)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def number_in(file: Path) -> int:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(file.read_text())


def test_output_code_and_what_it_cost() -> None:
    ended = run(
        *python("import sys; print('out'); print('err', file=sys.stderr); sum(range(10**6)); sys.exit(3)")
    )
    assert (ended.ending, ended.code) == ("exit", 3)
    assert sorted(ended.output.split()) == ["err", "out"]
    assert 0 < ended.cpu < 30
    assert 0 < ended.wall < 60
    assert 1 << 20 < ended.peak < 1 << 30


def test_it_runs_in_an_empty_directory_that_is_gone_afterwards() -> None:
    ended = run(*python("import os; print(os.getcwd(), os.listdir())"))
    directory, content = ended.output.split()
    assert content == "[]"
    assert not Path(directory).exists()


def test_processors_are_those_given() -> None:
    one = min(os.sched_getaffinity(0))
    words = python("import os; print(os.sched_getaffinity(0))")
    assert Supervised(words, seconds=60, processors=[one]).result().output.strip() == f"{{{one}}}"


def test_the_time_limit_ends_whatever_was_started(tmp_path: Path) -> None:
    file = tmp_path / "number"
    ended = run(*python(ESCAPE, str(file), "600"), seconds=3.0)
    assert ended.ending == "timeout"
    assert 3.0 <= ended.wall < 20
    assert not is_alive(number_in(file))


def test_leftovers_of_a_command_that_exits_are_ended(tmp_path: Path) -> None:
    file = tmp_path / "number"
    ended = run(*python(ESCAPE, str(file), "1.0"))
    assert ended.ending == "exit"
    assert not is_alive(number_in(file))


def test_the_memory_of_all_processes_together_is_limited() -> None:
    text = "import os, time; os.fork(); kept = b'x' * (60 << 20); time.sleep(600)"
    assert run(*python(text), memory=100 << 20).ending == "memory"
    ended = run(*python(text), memory=300 << 20, seconds=3.0)
    assert ended.ending == "timeout"
    assert ended.peak > 120 << 20


@pytest.mark.parametrize("lost", [False, True])
def test_a_run_that_is_cancelled_or_whose_supervisor_is_killed(
    tmp_path: Path, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a supervisor that is killed leaves its directory
    file = tmp_path / "number"
    text = "import os, sys, time; open(sys.argv[1] + 'n', 'w').write(str(os.getpid()))"
    words = python(f"{text}; os.rename(sys.argv[1] + 'n', sys.argv[1]); time.sleep(600)", str(file))
    run = Supervised(words, seconds=600)
    process = number_in(file)
    if lost:
        os.kill(run._process.pid, 9)
    run.cancel()
    deadline = time.monotonic() + 20
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(process)


def test_a_command_that_is_not_there() -> None:
    ended = run("/no/such/program")
    assert ended.ending == "failed"
    assert "No such file" in ended.detail

"""Programs under limits: real processes that compute, sleep, fork and outlive their parent."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from certus.system.child import Kind
from certus.system.tools import Limits, run_program

SOURCE = str(Path(__file__).parents[3] / "src")
SHELL = ("/bin/sh", "-c")


def run(directory: Path, script: str, limits: Limits) -> tuple[int | Kind, str]:
    """Run a script of the shell; return how it ended, and what it printed."""
    with open(os.devnull, "rb") as nothing, tempfile.TemporaryFile() as output:
        files = (nothing, output, output)
        command = (*SHELL, script)
        code = run_program(command, files, directory=str(directory), environment={}, limits=limits)
        output.seek(0)
        return code, output.read().decode()


def gone(pid: int) -> bool:
    """Return whether a process ends within some seconds; a zombie has ended."""
    status = Path(f"/proc/{pid}/stat")
    for _ in range(250):
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9)])
def test_how_a_program_ends(script: str, code: int, tmp_path: Path) -> None:
    assert run(tmp_path, script, Limits(20)) == (code, "")


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    with open(os.devnull, "r+b") as nothing, pytest.raises(FileNotFoundError):
        run_program(["/none"], (nothing,) * 3, directory=str(tmp_path), environment={}, limits=Limits(20))


def test_an_interrupt_counts_although_the_program_ends_at_once(tmp_path: Path) -> None:
    assert run(tmp_path, "kill -INT $PPID", Limits(20)) == ("interrupted", "")


def test_time_ends_it_and_all_it_started(tmp_path: Path) -> None:
    start = time.monotonic()
    code, printed = run(tmp_path, "sleep 60 & echo $!; wait", Limits(0.5))
    assert code == "timeout"
    assert time.monotonic() - start < 20
    assert gone(int(printed))


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    code, printed = run(tmp_path, "sleep 60 & echo $!", Limits(20))
    assert code == 0
    assert gone(int(printed))


def test_limits(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_STACK)
    limits = Limits(20, memory=1 << 30, stack=3 << 20)
    asked = "sleep 0.3; ulimit -s; ulimit -v; ulimit -t; ulimit -c"
    assert run(tmp_path, asked, limits) == (0, f"{3 << 10}\n{1 << 20}\n22\n0\n")
    assert resource.getrlimit(resource.RLIMIT_STACK) == before


PARENT = """
import os, sys
sys.path.insert(0, {source!r})
from certus.system.tools import Limits, run_program

with open(os.devnull, "r+b") as nothing:
    command = ("/bin/sh", "-c", "sleep 1; echo $$ > pid.new; mv pid.new pid; exec sleep 60")
    files = (nothing, nothing, nothing)
    print(run_program(command, files, directory={directory!r}, environment={{}}, limits=Limits(50)))
"""


@pytest.mark.parametrize(
    ("number", "code", "output"),
    [
        (signal.SIGINT, 0, b"interrupted\n"),
        (signal.SIGTERM, -signal.SIGTERM, b""),
        (signal.SIGKILL, -signal.SIGKILL, b""),
    ],
)
def test_a_signal_to_the_parent_ends_it(
    number: signal.Signals, code: int, output: bytes, tmp_path: Path
) -> None:
    script, note = textwrap.dedent(PARENT.format(source=SOURCE, directory=str(tmp_path))), tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        while not note.exists():
            time.sleep(0.02)
        parent.send_signal(number)
        assert parent.communicate(timeout=20)[0] == output
    assert parent.returncode == code
    assert gone(int(note.read_text()))

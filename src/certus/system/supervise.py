"""Run a command and its descendants under limits, measure them, and leave no process behind.

A supervisor, a small Python process, runs between this process and the command. It is the "subreaper" of all
its descendants: a process whose parent has died becomes its child, so it can always list, measure and end
them all, even those that left their process group. It watches the pipe from this process: when that closes,
because the run was cancelled or this process ended for any reason, it ends the command.

This file is both sides: `Supervised` is the side of this process, `main` the supervisor's, which runs as a
script and so imports only the standard library. `cpu_seconds` and `memory_of` measure processes of Certus.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

Ending = Literal["exit", "timeout", "memory", "output", "failed"]

RUN_PREFIX: Final = "certus-run-"  # of the directory of a command
TICK: Final = 0.1  # seconds between two measurements
OUTPUT: Final = 64 << 20  # bytes that a command may print
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `code` is its exit code, or minus the signal; `peak` the resident memory in bytes
    of all its processes together; `detail` says why it could not be started."""

    ending: Ending
    code: int
    output: str
    wall: float
    cpu: float
    peak: int
    detail: str = ""


class Supervised:
    """A running command. `fileno` becomes readable when there is output of the supervisor, at last its
    end."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        seconds: float,
        memory: int | None = None,
        environment: Mapping[str, str] | None = None,
        processors: Sequence[int] = (),
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        order = {"words": list(words), "seconds": seconds, "memory": memory, "processors": list(processors)}
        assert self._process.stdin is not None
        self._process.stdin.write(
            json.dumps(order | {"environment": dict(environment or {})}).encode() + b"\n"
        )
        self._process.stdin.flush()
        self._received: list[bytes] = []

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def finished(self) -> bool:
        """Read the output that has arrived, or wait for it; return whether it was the end."""
        data = os.read(self.fileno(), 1 << 20)
        self._received.append(data)
        return not data

    def result(self) -> Ended:
        """Wait for the end of the command, and return how it ended."""
        while not self.finished():
            pass
        self._close()
        try:
            return Ended(**json.loads(b"".join(self._received)))
        except json.JSONDecodeError:
            return Ended("failed", self._process.returncode, "", 0.0, 0.0, 0, "the supervisor was ended")

    def cancel(self) -> None:
        """End the command and its descendants, and return when they have ended."""
        self._close()

    def _close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        if self._process.wait() < 0:  # the supervisor was killed before it could end the command
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stdout.close()


# --------------------------------------------------------------------------------- the supervisor


def main() -> None:
    """Read the order from standard input, carry it out, print how it ended."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # only the end of the pipe ends the supervisor
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    order = json.loads(sys.stdin.buffer.readline())
    with tempfile.TemporaryDirectory(prefix=RUN_PREFIX) as directory, tempfile.TemporaryFile() as output:
        ended = _carry_out(order, directory, output.fileno())
        output.seek(0)
        text = output.read(OUTPUT).decode(errors="replace")
    print(json.dumps({**ended, "output": text}))


def _carry_out(order: dict[str, Any], directory: str, output: int) -> dict[str, Any]:
    """Run the command of an order to its end, and return the fields of `Ended` except the output. The
    command has its temporary files in `directory`, since it cannot remove them if it is killed."""
    if order["processors"]:
        os.sched_setaffinity(0, order["processors"])
    start = time.monotonic()
    try:
        command = subprocess.Popen(
            order["words"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=directory,
            env=os.environ | {"TMPDIR": directory} | order["environment"],
        )
    except OSError as error:
        return {"ending": "failed", "code": 127, "wall": 0.0, "cpu": 0.0, "peak": 0, "detail": str(error)}
    ending, peak = _watch(command, order["seconds"], order["memory"], output)
    wall = time.monotonic() - start
    _end_all()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = usage.ru_utime + usage.ru_stime
    peak = max(peak, usage.ru_maxrss * 1024)
    return {"ending": ending, "code": command.returncode or 0, "wall": wall, "cpu": cpu, "peak": peak}


def _watch(
    command: subprocess.Popen[bytes], seconds: float, memory: int | None, output: int
) -> tuple[Ending, int]:
    """Wait until the command exits or a limit is reached; return how it ended and its peak memory."""
    deadline = time.monotonic() + seconds
    peak, watched = 0, [sys.stdin.fileno(), os.pidfd_open(command.pid)]
    while command.poll() is None:
        left = deadline - time.monotonic()
        peak = max(peak, sum(map(resident, descendants())))
        if left <= 0:
            return "timeout", peak
        if memory is not None and peak > memory:
            return "memory", peak
        if os.fstat(output).st_size > OUTPUT:
            return "output", peak
        if sys.stdin.fileno() in select.select(watched, [], [], min(TICK, left))[0]:
            _end_all()
            sys.exit(1)
    return "exit", peak


def descendants(root: int | None = None) -> list[int]:
    """Return the descendants of a process, by default of this one."""
    processes: list[int] = []
    waiting = [os.getpid() if root is None else root]
    while waiting:
        parent = waiting.pop()
        with suppress(OSError):  # the process has ended
            for thread in Path(f"/proc/{parent}/task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())
        processes.append(parent)
    return processes[1:]


def resident(process: int) -> int:
    """Return the resident memory of a process in bytes."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def _end_all() -> None:
    """Kill and reap until there is no descendant left: orphans become children of this process."""
    while True:
        for process in descendants():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


# ------------------------------------------------------------------------------------ CPU time and memory

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its descendants, including those that have ended."""
    total = 0.0
    for processes in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(processes)
        total += usage.ru_utime + usage.ru_stime
    return total + sum(map(_cpu, descendants()))


def _cpu(process: int) -> float:
    """Return the CPU time of a process and of its children that have ended."""
    try:
        numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, numbers[11:15])) / _TICKS


def memory_of(groups: Iterable[int], enough: int) -> dict[int, int]:
    """Return the bytes of memory of each process with its descendants. If the plain sum exceeds `enough`,
    shared pages are divided among the processes that share them, which takes longer."""
    trees = {root: (root, *descendants(root)) for root in groups}
    used = {root: sum(map(resident, tree)) for root, tree in trees.items()}
    if sum(used.values()) <= enough:
        return used
    return {root: sum(map(_proportional, tree)) for root, tree in trees.items()}


def _proportional(process: int) -> int:
    """Return the memory of a process, with its share of shared pages."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return resident(process)


if __name__ == "__main__":
    main()

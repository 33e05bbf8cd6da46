"""Run a command, and all it starts, under limits; measure them; leave nothing behind.

A supervisor, a small Python process, stands between us and the command. It is the "subreaper" of everything
below: a process whose parent has died becomes its child, so it can always list, measure and end them all,
even those that left their process group. It watches the pipe from us: when that closes, because the run was
cancelled or we died of whatever cause, it ends the command.

This file is both sides: `Supervised` is ours, `main` the supervisor's, which runs as a script and so
imports nothing but the standard library.
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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

Ending = Literal["exit", "timeout", "memory", "output", "failed"]

TICK: Final = 0.1  # seconds between two looks
OUTPUT: Final = 64 << 20  # bytes that a command may print
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `code` is its exit code, or minus the signal; `peak` bytes of resident memory of
    all its processes together; `detail` says why it could not be started."""

    ending: Ending
    code: int
    output: str
    wall: float
    cpu: float
    peak: int
    detail: str = ""


class Supervised:
    """A command under way. `fileno` is ready to be read when it has something to say, its end at last."""

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
        self._said: list[bytes] = []

    def fileno(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def finished(self) -> bool:
        """Take what has arrived (when there is something); whether that was all."""
        data = os.read(self.fileno(), 1 << 20)
        self._said.append(data)
        return not data

    def result(self) -> Ended:
        """Wait for the end."""
        while not self.finished():
            pass
        self._close()
        try:
            return Ended(**json.loads(b"".join(self._said)))
        except json.JSONDecodeError:
            return Ended("failed", self._process.returncode, "", 0.0, 0.0, 0, "the supervisor was ended")

    def cancel(self) -> None:
        """End it, with all it started, and return when they are gone."""
        self._close()

    def _close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        if self._process.wait() < 0:  # somebody has killed it, and not what it was to end
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.stdout.close()


# --------------------------------------------------------------------------------- the supervisor


def main() -> None:
    """Take the order from standard input, carry it out, print how it ended."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # we end when the pipe does; the command has its own way
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    order = json.loads(sys.stdin.buffer.readline())
    with tempfile.TemporaryDirectory(prefix="certus-run-") as directory, tempfile.TemporaryFile() as output:
        ended = _carry_out(order, directory, output.fileno())
        output.seek(0)
        text = output.read(OUTPUT).decode(errors="replace")
    print(json.dumps({**ended, "output": text}))


def _carry_out(order: dict[str, Any], directory: str, output: int) -> dict[str, Any]:
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
            env=os.environ | order["environment"],
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
    """Until the command exits or a limit is reached."""
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
    """All processes below one, by default this one."""
    found: list[int] = []
    waiting = [os.getpid() if root is None else root]
    while waiting:
        parent = waiting.pop()
        with suppress(OSError):  # it has ended meanwhile
            for thread in Path(f"/proc/{parent}/task").iterdir():
                waiting += map(int, (thread / "children").read_text().split())
        found.append(parent)
    return found[1:]


def resident(process: int) -> int:
    """Bytes of memory of a process."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def _end_all() -> None:
    """Kill and reap until there is nobody left: orphans come to us."""
    while True:
        for process in descendants():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()

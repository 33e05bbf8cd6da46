"""Run another program under limits, without a copy of this process.

A forked child (`system.child`) takes some 4 ms of CPU time before it becomes another program, a third of what
Clang takes for a small file. Here `vfork` starts the program. No Python runs in between, so this process sets
from outside what a child would set for itself.
"""

from __future__ import annotations

import fcntl
import math
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO, Final

from certus.system.child import Kind, recorded_signals
from certus.system.child_main import CPU_SLACK, at_most

_TICK: Final = 0.1  # seconds between checks for signals


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a program: seconds of wall time, bytes of its address space, and bytes of its stack, unless
    the system allows less."""

    seconds: float
    memory: int | None = None
    stack: int | None = None


def run_program(
    command: Sequence[str],
    files: tuple[BinaryIO, BinaryIO, BinaryIO],
    *,
    directory: str,
    environment: Mapping[str, str],
    limits: Limits,
) -> int | Kind:
    """Run a program with `files` as standard input, output and errors. Return its exit code, or minus the
    signal that ended it; if a limit or a signal to this process ended it, which one.

    The program leads a session, which ends when the program does. If this process is killed, the kernel ends
    the program: it has the reading end of a pipe, and a signal is due when the only writing end closes. This
    and all limits but that of the stack begin an instant after the program."""
    standard_input, output, errors = files
    reading, writing = os.pipe()
    with recorded_signals() as received, os.fdopen(writing, "wb"), os.fdopen(reading, "rb") as alive:
        deadline = time.monotonic() + limits.seconds
        with _stack(limits.stack):
            process = subprocess.Popen(
                command,
                stdin=standard_input,
                stdout=output,
                stderr=errors,
                cwd=directory,
                env=environment,
                pass_fds=(alive.fileno(),),
                start_new_session=True,
            )
        try:
            fcntl.fcntl(alive, fcntl.F_SETOWN, process.pid)
            fcntl.fcntl(alive, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(alive, fcntl.F_SETFL, os.O_ASYNC)
            _limit(process.pid, limits)
            stopped = _wait(process.pid, deadline, received)
        finally:
            with suppress(ProcessLookupError, PermissionError):  # its number is not used again before `wait`
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
    return code if stopped is None else stopped


def _wait(pid: int, deadline: float, received: Sequence[int]) -> Kind | None:
    """Wait until a process ends; return why it must be ended, if it must."""
    with open(os.pidfd_open(pid), "rb", buffering=0) as end:
        while not select.select([end], [], [], max(0.0, min(_TICK, deadline - time.monotonic())))[0]:
            if received:
                return "interrupted"
            if time.monotonic() >= deadline:
                return "timeout"
    return None


@contextmanager
def _stack(size: int | None) -> Iterator[None]:
    """Let programs that start now have a stack of `size` bytes. The layout of their memory depends on this
    limit, so that it must be set before they start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (soft if size is None else at_most(size, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))


def _limit(pid: int, limits: Limits) -> None:
    """Limit a process that runs already."""
    wanted = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, math.ceil(limits.seconds) + CPU_SLACK)]
    if limits.memory is not None:
        wanted.append((resource.RLIMIT_AS, limits.memory))
    with suppress(ProcessLookupError):  # it has ended
        for kind, most in wanted:
            hard = resource.prlimit(pid, kind)[1]
            resource.prlimit(pid, kind, (at_most(most, hard), hard))

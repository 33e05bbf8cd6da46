"""Run work in forked child processes under hard limits.

Solvers hold the interpreter lock, ignore signals and abort the process when memory runs out, so the
only limit that always works is the end of a process. Each child leads a session of its own: ending
its process group ends everything it started. `Children` runs several in parallel; `run_limited` runs one.

Invariant: after the context of `Children`, however it was left, every child is reaped and its process group
has ended, and its temporary files are removed. If this process is killed, the kernel ends the children.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from certus.system.child_main import (
    FAILURE,
    HEADER,
    KEPT,
    PAYLOAD,
    SHARED,
    Kind,
    Reporter,
    Work,
    describe,
    is_out_of_memory,
    new_scratch,
    remove_scratch,
    run_child,
)
from certus.system.supervise import cpu_seconds, memory_of

__all__ = [
    "ChildResult",
    "Children",
    "Kind",
    "Reporter",
    "Work",
    "describe",
    "recorded_signals",
    "run_limited",
]

_TICK: Final = 0.1  # seconds between checks for signals, exits and limits
_GRACE: Final = 1.0  # seconds between the last message and the end of the child
_TAIL: Final = 4096  # bytes kept of the output of the child
_MOST: Final = 0.8  # of the CPU time that is allowed: the kernel counts it by ticks of its clock
_ALLOWED: Final = "the limit on the CPU time of a process is reached (`ulimit -t`)"
_STOPPED: Final[Mapping[Kind, str]] = {
    "cpu": "the limit on CPU time is reached",
    "memory": "the processes together reached the limit on memory",
}


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a child ended. `payload` is the value that it returned or, if a limit or a crash ended it, the last
    result that it kept (`Reporter.keep`). `detail` is one line for reports; `progress` the last line of
    progress."""

    kind: Kind
    payload: bytes | None
    detail: str
    cpu_seconds: float
    peak_memory: int  # bytes
    progress: str = ""


def run_limited(
    work: Work,
    *,
    seconds: float | None,
    memory: int | None,
    cpu: float | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> ChildResult:
    """Run `work` in a child with at most `seconds` of wall time and `memory` bytes, until this process and
    its descendants have used `cpu` seconds.

    SIGINT and SIGTERM end the child at once: the result is `interrupted`, and a SIGTERM is delivered again
    after the child has ended."""
    with Children(cpu=cpu, memory=memory) as children:
        children.start("", work, seconds=seconds, on_progress=on_progress)
        return children.next_result()[1]


class Children:
    """Named children that run in parallel. `memory` is in bytes: no child may have a larger address space,
    and if all together use more, the largest is ended. All are ended when this process and its descendants,
    including those that have ended, have used `cpu` seconds."""

    def __init__(self, *, cpu: float | None = None, memory: int | None = None) -> None:
        self._cpu = cpu
        self._memory = memory
        self._next_check = 0.0  # when to check their CPU time and memory
        self._running: dict[str, _Child] = {}
        self._signals = recorded_signals()
        self._received: list[int] = []

    def __enter__(self) -> Children:
        self._received = self._signals.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for name in tuple(self._running):
                self.end(name)
        finally:
            self._signals.__exit__(kind, error, trace)

    @property
    def running(self) -> tuple[str, ...]:
        """The names of the children that are not suspended."""
        return tuple(name for name, child in self._running.items() if not child.suspended)

    @property
    def interrupted(self) -> bool:
        """Return whether SIGINT or SIGTERM was received: every child still running then ends as
        `interrupted`."""
        return bool(self._received)

    def start(
        self,
        name: str,
        work: Work,
        *,
        seconds: float | None,
        on_progress: Callable[[str], None] | None = None,
        on_shared: Callable[[bytes], None] | None = None,
    ) -> None:
        """Start `work` in a new child. The callbacks get its lines of progress and the data it shares."""
        assert name not in self._running
        child = self._running[name] = _Child.fork(work, seconds, self._memory)
        child.inbox.on_progress, child.inbox.on_shared = on_progress, on_shared

    def suspend(self, name: str) -> None:
        """Stop a child and all it started until it is resumed. Its time limit continues to run."""
        self._running[name].signal_group(signal.SIGSTOP)

    def resume(self, name: str) -> bool:
        """Continue a suspended child; return whether there was one of that name."""
        child = self._running.get(name)
        if child is None or not child.suspended:
            return False
        child.signal_group(signal.SIGCONT)
        return True

    def next_result(self) -> tuple[str, ChildResult]:
        """Wait for a child to finish or to reach a limit; return its name and result."""
        result = self.result_within(math.inf)
        assert result is not None
        return result

    def result_within(self, seconds: float) -> tuple[str, ChildResult] | None:
        """Wait at most `seconds` for a child to finish or to reach a limit."""
        assert self._running
        until = time.monotonic() + seconds
        while (result := self.ready_result()) is None and time.monotonic() < until:
            self._wait()
        return result

    def ready_result(self) -> tuple[str, ChildResult] | None:
        """Return the result of a child that has finished or reached a limit; None if there is no such
        child."""
        if time.monotonic() >= self._next_check:
            self._next_check = time.monotonic() + _TICK
            self._enforce()
        for name, child in tuple(self._running.items()):
            if child.finished(interrupted=self.interrupted):
                del self._running[name]
                return name, child.result()
        return None

    def end(self, name: str) -> None:
        """End a child that is no longer needed."""
        child = self._running.pop(name)
        child.stopped = "interrupted"
        child.result()

    def end_others(self, kept: str) -> None:
        """End all children but one, suspended ones included."""
        for name in [name for name in self._running if name != kept]:
            self.end(name)

    def _enforce(self) -> None:
        """Mark the children that must end because of their CPU time or memory."""
        if self._cpu is not None and cpu_seconds() >= self._cpu:
            for child in self._running.values():
                child.stopped = child.stopped or "cpu"
        if self._memory is not None and len(self._running) > 1:
            used = memory_of((child.pid for child in self._running.values()), self._memory)
            if sum(used.values()) > self._memory:
                largest = max(self._running.values(), key=lambda child: used[child.pid])
                largest.stopped = largest.stopped or "memory"

    def _wait(self) -> None:
        """Wait until a message arrives, but not longer than a tick."""
        poll = select.poll()
        for child in self._running.values():
            for fd in child.open:
                poll.register(fd, select.POLLIN)
        soonest = min(child.deadline for child in self._running.values()) - time.monotonic()
        poll.poll(max(0.0, min(_TICK, soonest)) * 1000)


# ------------------------------------------------------------------------------------- one child


class _Child:
    """A child as seen by its parent: the descriptors still `open`, the messages received, the deadline."""

    def __init__(self, pid: int, messages: int, printed: int, scratch: str | None) -> None:
        self.pid = pid
        self.messages = messages
        self.printed = printed
        self.scratch = scratch  # the directory of its temporary files
        self.inbox = _Inbox()
        self.deadline = math.inf
        self.memory: int | None = None
        self.stopped: Kind | None = None
        self.suspended = False
        self.open = [messages, printed]
        with suppress(OSError):  # a descriptor that is ready when the process ends, if the system has them
            self.open.append(os.pidfd_open(pid))
        self._all = tuple(self.open)
        for fd in self.open:
            os.set_blocking(fd, False)

    @staticmethod
    def fork(work: Work, seconds: float | None, memory: int | None) -> _Child:
        """Fork a child that runs `work`."""
        messages, messages_in = os.pipe()
        printed, printed_in = os.pipe()
        parent = os.getpid()
        scratch = new_scratch()
        pid = os.fork()
        if pid == 0:
            os.close(messages)
            os.close(printed)
            run_child(work, messages_in, printed_in, parent, seconds, memory, scratch)
        os.close(messages_in)
        os.close(printed_in)
        child = _Child(pid, messages, printed, scratch)
        child.memory = memory
        if seconds is not None:
            child.deadline = time.monotonic() + seconds
        return child

    def finished(self, *, interrupted: bool) -> bool:
        """Read the messages that have arrived; return whether the child has ended, or must be ended now.

        A child that has sent its last message gets a moment to end by itself."""
        exited = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        for fd in (self.messages, self.printed):
            if fd in self.open and not self._read(fd):
                self.open.remove(fd)
        left = self.deadline - time.monotonic()
        if exited or (self.inbox.complete and left <= 0):
            return True
        if self.inbox.complete:
            self.deadline = min(self.deadline, time.monotonic() + _GRACE)
        elif interrupted:
            self.stopped = "interrupted"
        elif left <= 0:
            self.stopped = "timeout"
        return self.stopped is not None

    def signal_group(self, number: signal.Signals) -> None:
        """Send SIGSTOP or SIGCONT to the child and all it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)
        self.suspended = number == signal.SIGSTOP

    def _read(self, fd: int) -> bool:
        """Read the data that has arrived (one read empties a pipe); return False at the end of the file."""
        try:
            data = os.read(fd, 1 << 20)
        except BlockingIOError:
            return True
        if fd == self.printed:
            self.inbox.printed = (self.inbox.printed + data)[-_TAIL:]
        else:
            self.inbox.take(data)
        return bool(data)

    def result(self) -> ChildResult:
        """End the child and all it started, reap it, remove its temporary files, and return how it ended."""
        for end in (os.kill, os.killpg):  # its process id is not reused before it is reaped
            with suppress(ProcessLookupError, PermissionError):
                end(self.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        for fd in self._all:
            os.close(fd)
        remove_scratch(self.scratch)
        unit = 1 if sys.platform == "darwin" else 1024
        peak = usage.ru_maxrss * unit
        seconds = usage.ru_utime + usage.ru_stime
        kind, detail = self._ending(status, peak, seconds)
        payload = self.inbox.payload
        if payload is None and kind != "interrupted":
            payload = self.inbox.kept
        return ChildResult(kind, payload, detail, seconds, peak, self.inbox.progress)

    def _ending(self, status: int, peak: int, used: float) -> tuple[Kind, str]:
        """Return why the child ended, and one line about it; it has `used` these seconds of CPU time."""
        if self.inbox.payload is not None:
            return "done", ""
        if self.inbox.failure is not None:
            return self.inbox.failure
        if self.stopped is not None:
            return self.stopped, _STOPPED.get(self.stopped, self.inbox.progress)
        if os.waitstatus_to_exitcode(status) == -signal.SIGKILL and used >= _MOST * _allowed_cpu():
            return "cpu", _ALLOWED
        full = self.memory is not None and peak > 0.8 * self.memory
        return _explain_death(status, self.inbox.printed.decode(errors="replace"), full=full)


class _Inbox:
    """The messages of a child, assembled from the bytes that arrive."""

    __slots__ = ("_buffer", "failure", "kept", "on_progress", "on_shared", "payload", "printed", "progress")

    def __init__(self) -> None:
        self.on_progress: Callable[[str], None] | None = None
        self.on_shared: Callable[[bytes], None] | None = None
        self.payload: bytes | None = None
        self.kept: bytes | None = None
        self.failure: tuple[Kind, str] | None = None
        self.progress = ""
        self.printed = b""  # the end of the output of the child
        self._buffer = bytearray()

    @property
    def complete(self) -> bool:
        """Return whether the last message has arrived."""
        return self.payload is not None or self.failure is not None

    def take(self, data: bytes) -> None:
        """Add bytes, and handle the messages that are complete."""
        self._buffer += data
        while len(self._buffer) >= HEADER.size:
            kind, length = HEADER.unpack_from(self._buffer)
            end = HEADER.size + length
            if len(self._buffer) < end:
                return
            body = bytes(memoryview(self._buffer)[HEADER.size : end])
            del self._buffer[:end]
            self._message(kind, body)

    def _message(self, kind: bytes, body: bytes) -> None:
        if kind == PAYLOAD:
            self.payload = body
        elif kind == FAILURE:
            failure, detail = json.loads(body)
            self.failure = (failure, detail)
        elif kind == KEPT:
            self.kept = body
        elif kind == SHARED:
            if self.on_shared is not None:
                self.on_shared(body)
        else:
            self.progress = body.decode(errors="replace")
            if self.on_progress is not None:
                self.on_progress(self.progress)


def _allowed_cpu() -> float:
    """Return the CPU time at which the kernel kills a process that this one has started."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    return math.inf if hard == resource.RLIM_INFINITY else hard


def _explain_death(status: int, printed: str, *, full: bool) -> tuple[Kind, str]:
    """Return why a child ended without a last message; `full` if its memory was nearly used up."""
    code = os.waitstatus_to_exitcode(status)
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    last = f": {lines[-1]}" if lines else ""
    if code == -signal.SIGXCPU:
        return "timeout", "the CPU limit was reached"
    if full or is_out_of_memory(printed):
        return "memory", f"out of memory{last}"
    if code == -signal.SIGKILL:
        return "memory", "the process was killed by the system, most likely for lack of memory"
    if code < 0:
        return "crashed", f"the process was ended by {signal.Signals(-code).name}{last}"
    return "crashed", f"the process ended with exit code {code}{last}"


@contextmanager
def recorded_signals() -> Iterator[list[int]]:
    """Record SIGINT and SIGTERM instead of acting on them; a SIGTERM is delivered again at the end."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {
        number: signal.signal(number, lambda number, _: received.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) not in (signal.SIG_IGN, None)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if signal.SIGTERM in received:
            os.kill(os.getpid(), signal.SIGTERM)

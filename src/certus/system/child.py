"""Run a piece of work in a forked child process under hard limits.

Solvers hold the interpreter lock, ignore signals and abort the process when memory runs out, so the
only limit that always works is the end of a process. The child leads a session of its own: ending
its process group ends everything it started. Messages come back through a pipe, each with its kind
and length in front; whatever the child prints otherwise goes to a second pipe, of which the end is
kept to explain a crash.

Invariant of `run_limited`: when it returns or raises, the child is reaped and its group is gone. If
this process is killed outright, the kernel ends the child.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import math
import os
import resource
import select
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Literal, NoReturn

from certus.core.errors import BudgetExceeded

Kind = Literal["done", "timeout", "memory", "crashed", "interrupted"]

_HEADER: Final = struct.Struct("<cQ")  # kind of message, length of its body
_PROGRESS: Final = b"p"
_PAYLOAD: Final = b"r"
_FAILURE: Final = b"f"
_TICK: Final = 0.1  # seconds between looks at signals and at an exit without end of file
_GRACE: Final = 1.0  # seconds between the last message and the end of the child
_TAIL: Final = 4096  # bytes kept of what the child prints
_CPU_SLACK: Final = 2  # seconds of CPU above the wall limit, should this process not end the child


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How the child ended. `detail` is one line for people; `progress` the last line it reported."""

    kind: Kind
    payload: bytes | None
    detail: str
    cpu_seconds: float
    peak_memory: int  # bytes
    progress: str = ""


class Reporter:
    """The child's end of the line."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def progress(self, line: str) -> None:
        """Tell the parent what is being done, in a line."""
        self._send(_PROGRESS, line.encode())

    def _send(self, kind: bytes, body: bytes) -> None:
        for part in (_HEADER.pack(kind, len(body)), body):
            view = memoryview(part)
            while view:
                view = view[os.write(self._fd, view) :]


Work = Callable[[Reporter], bytes]


def run_limited(
    work: Work,
    *,
    seconds: float | None,
    memory: int | None,
    on_progress: Callable[[str], None] | None = None,
) -> ChildResult:
    """Run `work` in a child with at most `seconds` of wall time and `memory` bytes of addresses.

    SIGINT and SIGTERM end the child at once: the first gives the result `interrupted`, the second
    is delivered again after the child is gone."""
    messages, messages_in = os.pipe()
    printed, printed_in = os.pipe()
    with _signals() as received:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.close(messages)
            os.close(printed)
            _be_child(work, messages_in, printed_in, parent, seconds, memory)
        os.close(messages_in)
        os.close(printed_in)
        inbox = _Inbox(on_progress)
        stopped: Kind | None = None
        try:
            stopped = _listen(pid, messages, printed, inbox, seconds, received)
        finally:
            status, usage = _end(pid)
            os.close(messages)
            os.close(printed)
        return _result(inbox, stopped, status, usage, memory)


# ------------------------------------------------------------------------------------ the parent


class _Inbox:
    """Messages put together from the bytes that arrive."""

    __slots__ = ("_buffer", "failure", "on_progress", "payload", "printed", "progress")

    def __init__(self, on_progress: Callable[[str], None] | None) -> None:
        self.on_progress = on_progress
        self.payload: bytes | None = None
        self.failure: tuple[Kind, str] | None = None
        self.progress = ""
        self.printed = b""  # the end of what the child printed
        self._buffer = bytearray()

    @property
    def complete(self) -> bool:
        """Whether the last message is there."""
        return self.payload is not None or self.failure is not None

    def take(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._buffer)
            end = _HEADER.size + length
            if len(self._buffer) < end:
                return
            body = bytes(memoryview(self._buffer)[_HEADER.size : end])
            del self._buffer[:end]
            self._message(kind, body)

    def _message(self, kind: bytes, body: bytes) -> None:
        if kind == _PAYLOAD:
            self.payload = body
        elif kind == _FAILURE:
            failure, detail = json.loads(body)
            self.failure = (failure, detail)
        else:
            self.progress = body.decode(errors="replace")
            if self.on_progress is not None:
                self.on_progress(self.progress)


def _listen(
    pid: int, messages: int, printed: int, inbox: _Inbox, seconds: float | None, received: list[int]
) -> Kind | None:
    """Read until the child is finished, or name the limit at which it has to be ended.

    A child that has sent its last message gets a moment to end by itself."""
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    unfinished = [messages, printed]
    with _exit_notice(pid) as notices:
        poll = select.poll()
        for fd in (*unfinished, *notices):
            os.set_blocking(fd, False)
            poll.register(fd, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            ready = [fd for fd, _ in poll.poll(max(0.0, min(_TICK, left)) * 1000)]
            exited = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            for fd in tuple(unfinished):
                if (exited or fd in ready) and not _read(fd, inbox, printed):
                    poll.unregister(fd)
                    unfinished.remove(fd)
            if exited or (inbox.complete and left <= 0):
                return None
            if inbox.complete:
                deadline = min(deadline, time.monotonic() + _GRACE)
            elif received:
                return "interrupted"
            elif left <= 0:
                return "timeout"


@contextmanager
def _exit_notice(pid: int) -> Iterator[list[int]]:
    """A descriptor that is ready when the process ends, where the system has them."""
    try:
        notices = [os.pidfd_open(pid)]
    except OSError:
        notices = []
    try:
        yield notices
    finally:
        for fd in notices:
            os.close(fd)


def _read(fd: int, inbox: _Inbox, printed: int) -> bool:
    """Take what has arrived (one read empties a pipe); False at the end of the file."""
    try:
        data = os.read(fd, 1 << 20)
    except BlockingIOError:
        return True
    if fd == printed:
        inbox.printed = (inbox.printed + data)[-_TAIL:]
    else:
        inbox.take(data)
    return bool(data)


def _end(pid: int) -> tuple[int, resource.struct_rusage]:
    """End the child and all it started, and reap it. Its number stays taken until then."""
    for end in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return status, usage


def _result(
    inbox: _Inbox, stopped: Kind | None, status: int, usage: resource.struct_rusage, memory: int | None
) -> ChildResult:
    unit = 1 if sys.platform == "darwin" else 1024
    peak = usage.ru_maxrss * unit
    kind: Kind
    if inbox.payload is not None:
        kind, detail = "done", ""
    elif inbox.failure is not None:
        kind, detail = inbox.failure
    elif stopped is not None:
        kind, detail = stopped, inbox.progress
    else:
        full = memory is not None and peak > 0.8 * memory
        kind, detail = _explain_death(status, inbox.printed.decode(errors="replace"), full=full)
    seconds = usage.ru_utime + usage.ru_stime
    return ChildResult(kind, inbox.payload, detail, seconds, peak, inbox.progress)


def _explain_death(status: int, printed: str, *, full: bool) -> tuple[Kind, str]:
    """Why a child ended that could not say so itself; `full` if its memory was nearly used up."""
    code = os.waitstatus_to_exitcode(status)
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    said = f": {lines[-1]}" if lines else ""
    if code == -signal.SIGXCPU:
        return "timeout", "the CPU limit was reached"
    if full or _speaks_of_memory(printed):
        return "memory", f"out of memory{said}"
    if code == -signal.SIGKILL:
        return "memory", "the process was killed by the system, most likely for lack of memory"
    if code < 0:
        return "crashed", f"the process was ended by {signal.Signals(-code).name}{said}"
    return "crashed", f"the process ended with exit code {code}{said}"


def _speaks_of_memory(text: str) -> bool:
    """Native libraries tell of failed allocations in words only."""
    lowered = text.lower()
    return any(words in lowered for words in ("bad_alloc", "out of memory", "cannot allocate", "memoryerror"))


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Note SIGINT and SIGTERM instead of acting on them; a SIGTERM is delivered again at the end."""
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


# ------------------------------------------------------------------------------------- the child


def _be_child(
    work: Work, messages: int, printed: int, parent: int, seconds: float | None, memory: int | None
) -> NoReturn:
    """The whole life of the child. Never returns, whatever happens: the caller's frames are a copy."""
    code = 1
    try:
        _settle(printed, parent)
        _limit(seconds, memory)
        reporter = Reporter(messages)
        try:
            reporter._send(_PAYLOAD, work(reporter))
        except BaseException as error:  # the end of the process: nobody above could report it
            _limit_memory(None)
            reporter._send(_FAILURE, json.dumps(_classify(error)).encode())
        code = 0
    finally:
        os._exit(code)


def _settle(printed: int, parent: int) -> None:
    os.setsid()
    faulthandler.disable()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)


def _limit(seconds: float | None, memory: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory(memory)
    if seconds is not None:
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        wanted = math.ceil(seconds) + _CPU_SLACK
        resource.setrlimit(resource.RLIMIT_CPU, (_at_most(wanted, hard), hard))


def _limit_memory(memory: int | None) -> None:
    """Set the soft limit only, so that it can be lifted to report a failure."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = hard if memory is None else _at_most(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _at_most(wanted: int, hard: int) -> int:
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _classify(error: BaseException) -> tuple[Kind, str]:
    if isinstance(error, BudgetExceeded):
        kinds: dict[str, Kind] = {"time": "timeout", "memory": "memory"}
        return kinds.get(error.limit, "interrupted"), str(error)
    if isinstance(error, MemoryError) or _speaks_of_memory(str(error)):
        return "memory", "out of memory"
    return "crashed", describe(error)


def describe(error: BaseException) -> str:
    """An exception in one line: its type, message and innermost place."""
    place = ""
    frame = error.__traceback__
    while frame is not None:
        place = f" ({os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno})"
        frame = frame.tb_next
    message = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' if message else ''}{message}{place}"

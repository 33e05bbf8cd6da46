"""The whole life of a forked child: it leads a session of its own, limits itself, works, reports, ends.

Messages go through a pipe, each with its kind and length in front; whatever the child prints otherwise goes
to a second pipe. The child never returns into the frames it was forked from: they are a copy of its parent's.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import math
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable
from typing import Final, Literal, NoReturn

from certus.core.errors import BudgetExceeded

Kind = Literal["done", "timeout", "cpu", "memory", "crashed", "interrupted"]

HEADER: Final = struct.Struct("<cQ")  # kind of message, length of its body
PROGRESS: Final = b"p"
PAYLOAD: Final = b"r"
FAILURE: Final = b"f"
FOUND: Final = b"s"
KEPT: Final = b"k"
_CPU_SLACK: Final = 2  # seconds of CPU above the wall limit, should the parent not end the child


class Reporter:
    """The child's end of the line."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def progress(self, line: str) -> None:
        """Tell the parent what is being done, in a line."""
        self._send(PROGRESS, line.encode())

    def found(self, data: bytes) -> None:
        """Give the parent something that others may use, before the work is done."""
        self._send(FOUND, data)

    def keep(self, data: bytes) -> None:
        """Give the parent a result that counts if the work comes to no end of its own."""
        self._send(KEPT, data)

    def _send(self, kind: bytes, body: bytes) -> None:
        for part in (HEADER.pack(kind, len(body)), body):
            view = memoryview(part)
            while view:
                view = view[os.write(self._fd, view) :]


Work = Callable[[Reporter], bytes]


def live(
    work: Work, messages: int, printed: int, parent: int, seconds: float | None, memory: int | None
) -> NoReturn:
    """Work and report. Never returns, whatever happens."""
    code = 1
    try:
        _settle(printed, parent)
        _limit(seconds, memory)
        reporter = Reporter(messages)
        try:
            reporter._send(PAYLOAD, work(reporter))
        except BaseException as error:  # the end of the process: nobody above could report it
            _limit_memory(None)
            reporter._send(FAILURE, json.dumps(_classify(error)).encode())
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
    if isinstance(error, MemoryError) or speaks_of_memory(str(error)):
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


def speaks_of_memory(text: str) -> bool:
    """Native libraries tell of failed allocations in words only."""
    lowered = text.lower()
    return any(words in lowered for words in ("bad_alloc", "out of memory", "cannot allocate", "memoryerror"))

"""The main function of a forked child: it starts a session, limits itself, works, reports and exits.

Messages go through a pipe, each preceded by its kind and length; the output of the child goes to a second
pipe. The child never returns into the stack frames it was forked from: they are a copy of its parent's.

A child that is killed removes nothing. So it gets a directory for all its temporary files, inside that of its
parent, and the parent removes it when the child has ended. What has to stay, such as runs for a report of a
defect, goes to a directory outside of these (`lasting_directory`).
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import math
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NoReturn

from certus.core.errors import BudgetExceeded
from certus.system.supervise import RUN_PREFIX

Kind = Literal["done", "timeout", "cpu", "memory", "crashed", "interrupted"]

HEADER: Final = struct.Struct("<cQ")  # kind of message, length of its body
PROGRESS: Final = b"p"
PAYLOAD: Final = b"r"
FAILURE: Final = b"f"
SHARED: Final = b"s"
KEPT: Final = b"k"
CPU_SLACK: Final = 2  # seconds of CPU above the wall limit, in case the parent does not end the child


class Reporter:
    """The child's side of the connection to its parent."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def progress(self, line: str) -> None:
        """Send a line about what is being done."""
        self._send(PROGRESS, line.encode())

    def share(self, data: bytes) -> None:
        """Send data for other children before the work is done."""
        self._send(SHARED, data)

    def keep(self, data: bytes) -> None:
        """Send a result that counts if a limit or a crash ends the work."""
        self._send(KEPT, data)

    def _send(self, kind: bytes, body: bytes) -> None:
        for part in (HEADER.pack(kind, len(body)), body):
            view = memoryview(part)
            while view:
                view = view[os.write(self._fd, view) :]


Work = Callable[[Reporter], bytes]


def run_child(
    work: Work,
    messages: int,
    printed: int,
    parent: int,
    seconds: float | None,
    memory: int | None,
    scratch: str | None,
) -> NoReturn:
    """Run `work` in the child and report its result. Its temporary files go to `scratch`. Never returns,
    whatever happens."""
    code = 1
    try:
        _detach(printed, parent)
        _limit(seconds, memory)
        if scratch is not None:
            tempfile.tempdir = scratch
        reporter = Reporter(messages)
        try:
            reporter._send(PAYLOAD, work(reporter))
        except BaseException as error:  # the process ends here: no caller could report it
            _limit_memory(None)
            reporter._send(FAILURE, json.dumps(_classify(error)).encode())
        code = 0
    finally:
        os._exit(code)


def _detach(printed: int, parent: int) -> None:
    """Start a session that ends with the parent, without input, with the output to a pipe."""
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
    """Set the limits of this process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit_memory(memory)
    if seconds is not None:
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        wanted = math.ceil(seconds) + CPU_SLACK
        resource.setrlimit(resource.RLIMIT_CPU, (at_most(wanted, hard), hard))


def _limit_memory(memory: int | None) -> None:
    """Set the soft limit only, so that it can be lifted to report a failure."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    soft = hard if memory is None else at_most(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def at_most(wanted: int, hard: int) -> int:
    """Return a limit that a hard limit allows."""
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _classify(error: BaseException) -> tuple[Kind, str]:
    """Return how a child that raised `error` ended, and one line about it."""
    if isinstance(error, BudgetExceeded):
        kinds: dict[str, Kind] = {"time": "timeout", "memory": "memory"}
        return kinds.get(error.limit, "interrupted"), str(error)
    if isinstance(error, MemoryError) or is_out_of_memory(str(error)):
        return "memory", "out of memory"
    return "crashed", describe(error)


def describe(error: BaseException) -> str:
    """Return an exception in one line: its type, message and innermost place."""
    place = ""
    frame = error.__traceback__
    while frame is not None:
        place = f" ({os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno})"
        frame = frame.tb_next
    message = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' if message else ''}{message}{place}"


def is_out_of_memory(text: str) -> bool:
    """Return whether a message reports a failed allocation: native libraries report it by text only."""
    lowered = text.lower()
    return any(words in lowered for words in ("bad_alloc", "out of memory", "cannot allocate", "memoryerror"))


# ----------------------------------------------------------------------------------- temporary files

_CHILD_PREFIX: Final = "certus-child-"
_ATTEMPTS: Final = 20
_PAUSE: Final = 0.01  # seconds between two attempts to remove a directory


def new_scratch() -> str | None:
    """Create a directory for the files of a child; None if there is no place for temporary files."""
    with suppress(OSError):
        return tempfile.mkdtemp(prefix=_CHILD_PREFIX)
    return None


def remove_scratch(directory: str | None) -> None:
    """Remove the directory of a child that has ended. What the child started ends a moment later and may
    still write, so there are several attempts."""
    if directory is None:
        return
    for _ in range(_ATTEMPTS):
        shutil.rmtree(directory, ignore_errors=True)
        if not Path(directory).exists():
            return
        time.sleep(_PAUSE)


def lasting_directory(prefix: str) -> Path:
    """Create a directory that outlives this process, where the user has temporary files."""
    place = Path(tempfile.gettempdir())
    while place.name.startswith((_CHILD_PREFIX, RUN_PREFIX)):
        place = place.parent
    return Path(tempfile.mkdtemp(prefix=prefix, dir=place))

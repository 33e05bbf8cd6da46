"""Writing: reports to standard output or a file, progress to a terminal, and only there."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError

_INTERVAL: Final = 0.1  # seconds between two progress lines


def emit(text: str, target: Path | None = None) -> None:
    """Write a report to `target` or standard output. A reader who has left is no error."""
    if target is not None:
        try:
            target.write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            raise cannot_write(target, error) from error
        return
    write(sys.stdout, f"{text}\n")


def write(stream: TextIO, text: str) -> None:
    """Write all of `text` now, with a replacement for what the stream cannot encode."""
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # What the interpreter flushes at its end goes nowhere, rather than into an error message.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class CannotWrite(InputError):
    """There is an answer, but a file that was asked for cannot be written."""


def cannot_write(target: Path, error: OSError) -> CannotWrite:
    message = f"cannot write {target}: {error.strerror or error}"
    return CannotWrite([Diagnostic("cannot-write", message)])


def write_all(*reports: Callable[[], None]) -> None:
    """Write all of them: one that cannot be written does not keep the others from it."""
    problems: list[Diagnostic] = []
    for report in reports:
        try:
            report()
        except CannotWrite as error:
            problems += error.diagnostics
    if problems:
        raise CannotWrite(problems)


def coloured(stream: TextIO) -> bool:
    """Colours are for terminals, and for those who did not turn them off (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class ProgressLine:
    """One line at the bottom of a terminal, rewritten in place. Elsewhere it is silent."""

    def __init__(self, stream: TextIO, *, wanted: bool = True) -> None:
        self._stream = stream
        self._active = wanted and stream.isatty()
        self._next = 0.0
        self._shown = False
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def show(self, text: str) -> None:
        now = time.monotonic()
        if not self._active or now < self._next:
            return
        self._next = now + _INTERVAL
        width = shutil.get_terminal_size().columns - 1
        line = " ".join(f"{now - self._start:.1f} s  {text}".split())
        self._stream.write(f"\r\x1b[K{line[:width]}")
        self._stream.flush()
        self._shown = True

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

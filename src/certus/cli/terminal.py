"""Write reports to standard output or a file, and progress to a terminal; the exit codes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

from certus.core.diagnostic import Diagnostic, not_written
from certus.core.errors import InputError

_INTERVAL: Final = 0.1  # seconds between two progress lines


def emit(text: str, target: Path | None = None) -> None:
    """Write a report to `target` or standard output. A closed pipe is not an error. Bytes of file names that
    are no text become question marks."""
    if target is not None:
        try:
            target.write_text(f"{text}\n", encoding="utf-8", errors="replace")
        except OSError as error:
            raise cannot_write(target, error) from error
        return
    write(sys.stdout, f"{text}\n")


def write(stream: TextIO | None, text: str) -> None:
    """Write and flush `text`; characters that the stream cannot encode are replaced. Raises `CannotWrite`."""
    if stream is None:  # the process was started without it
        return
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # The interpreter flushes streams when it exits; without this it would print an error message.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except OSError as error:
        raise cannot_write(Path(stream.name), error) from error


def check_places(*places: Path | None) -> None:
    """Raise `InputError`, before the work begins, for a place where a report cannot be written."""
    for place in filter(None, places):
        try:
            is_new = not place.exists()
            if is_new or place.is_file() or place.is_dir():  # opening a pipe would end what its reader gets
                place.open("ab").close()
            if is_new:
                place.unlink()
        except OSError as error:
            raise InputError([not_written(place, error)]) from error


class CannotWrite(InputError):
    """Raised if there is an answer, but a requested file cannot be written."""


def cannot_write(target: Path, error: OSError) -> CannotWrite:
    """Return the error for a file that cannot be written."""
    return CannotWrite([not_written(target, error)])


def write_all(*reports: Callable[[], None]) -> None:
    """Write all reports, also those after one that cannot be written; then raise `CannotWrite`."""
    problems: list[Diagnostic] = []
    for report in reports:
        try:
            report()
        except CannotWrite as error:
            problems += error.diagnostics
    if problems:
        raise CannotWrite(problems)


def coloured(stream: TextIO | None) -> bool:
    """Say whether to use colours: on a terminal, unless the user has disabled them (https://no-color.org).
    There is no stream if the process was started without it."""
    return (
        stream is not None
        and stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


class ProgressLine:
    """One line of progress, rewritten in place. If the stream is no terminal, nothing is written."""

    def __init__(self, stream: TextIO | None, *, wanted: bool = True) -> None:
        self._stream = stream if wanted and stream is not None and stream.isatty() else None
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
        """Show `text`, unless the last line was written a moment ago."""
        now = time.monotonic()
        if self._stream is None or now < self._next:
            return
        self._next = now + _INTERVAL
        width = shutil.get_terminal_size().columns - 1
        line = " ".join(f"{now - self._start:.1f} s  {text}".split())
        self._stream.write(f"\r\x1b[K{line[:width]}")
        self._stream.flush()
        self._shown = True

    def clear(self) -> None:
        """Erase the line."""
        if self._stream is not None and self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False


class Exit(IntEnum):
    """The exit codes of all commands."""

    HOLDS = 0
    VIOLATED = 1
    INPUT = 2  # malformed input or wrong usage
    UNKNOWN = 3  # no answer, also after Ctrl-C
    INTERNAL = 4

    @staticmethod
    def of(answer: str) -> Exit:
        """Return the exit code for HOLDS, VIOLATED or UNKNOWN."""
        return Exit[answer]

    @staticmethod
    def of_witness(answer: str) -> Exit:
        """Return the exit code for a witness that is CONFIRMED, REFUTED or UNKNOWN."""
        return {"CONFIRMED": Exit.HOLDS, "REFUTED": Exit.VIOLATED}.get(answer, Exit.UNKNOWN)

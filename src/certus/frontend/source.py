"""Read source files and convert offsets to positions."""

from __future__ import annotations

import stat
from bisect import bisect_right
from functools import cached_property
from pathlib import Path
from typing import Final, NoReturn

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError

MAX_BYTES: Final = 5_000_000  # larger files are rejected before they are read


class Source:
    """A text and the name of its file. Offsets count characters from 0."""

    def __init__(self, text: str, file: str) -> None:
        self.text: Final = text
        self.file: Final = file
        self._spans: dict[tuple[int, int], Span] = {}

    @cached_property
    def _starts(self) -> list[int]:
        """Return the offset of the first character of every line."""
        starts, at = [0], self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """Return the span from `start` up to, but not including, `end`."""
        span = self._spans.get((start, end))
        if span is None:
            line, column = self.position(start)
            end_line, end_column = self.position(end)
            span = Span(self.file, line, column, end_line, end_column, self.file, line)
            self._spans[start, end] = span
        return span


def read_source(path: Path, *, limit: int = MAX_BYTES) -> Source:
    """Read a text file; raise `InputError` if it cannot be read, is too large or is not text."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            _refuse("cannot-read", f"{path} is a directory, not a file.", "Name one file in it.")
        if status.st_size > limit:
            _too_large(path, limit)
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        _refuse("cannot-read", f"There is no file {path}.", "Check the name and the directory.")
    except PermissionError:
        _refuse("cannot-read", f"You have no permission to read the file {path}.", "Check its permissions.")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        _refuse("cannot-read", f"The file {path} cannot be read: {reason}.", "Check the name and the disk.")
    if len(data) > limit:
        _too_large(path, limit)
    return decode(data, str(path))


def decode(data: bytes, file: str) -> Source:
    """Decode `data`, which must be UTF-8 without NUL bytes."""
    try:
        text = data.decode("utf-8-sig")
        wrong = data.find(b"\0")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        before = Source(data[:wrong].decode("utf-8", "replace"), file)
        span = before.span(len(before.text), len(before.text))
        message = f"{file} is not a text file: byte {wrong} is not UTF-8 text."
        _refuse("not-text", message, "If it is a source text, convert it to UTF-8.", span)
    return Source(text, file)


def _too_large(path: Path, limit: int) -> NoReturn:
    _refuse(
        "file-too-large",
        f"{path} is larger than {limit // 1_000_000} MB.",
        "Split the program, or remove what the property does not depend on.",
    )


def _refuse(code: str, message: str, hint: str | None, span: Span | None = None) -> NoReturn:
    raise InputError([Diagnostic(code, message, span=span, hint=hint)])

"""Messages to the user: sentences with positions in the source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final


class Severity(Enum):
    """The weight of a diagnostic."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text: lines and columns from 1, the end exclusive.

    `presumed_file` and `presumed_line` are the position according to line markers; without markers they
    repeat the physical position."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    presumed_file: str | None = None
    presumed_line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message to the user: `code` is stable and machine-readable, `hint` says what to do next."""

    code: str
    message: str
    severity: Severity = Severity.ERROR
    span: Span | None = None
    hint: str | None = None


WRITABLE: Final = "Check that the directory exists, that you may write there, and that the disk has space."


def not_written(place: Path, error: OSError) -> Diagnostic:
    """Return the diagnostic for a file or directory that cannot be written."""
    message = f"cannot write {place}: {error.strerror or error}"
    return Diagnostic("cannot-write", message, hint=WRITABLE)

"""Stretches of the source as one readable line each."""

from __future__ import annotations

import re
from typing import Final

from certus.core.diagnostic import Span

_LIMIT: Final = 160
_QUESTION: Final = re.compile(r"(?:[\s)]|//[^\n]*|/\*.*?\*/)*\?", re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class SourceText:
    """The text of one file, by spans. Stretches of other files (headers) have no text here."""

    def __init__(self, text: str, file: str) -> None:
        self._lines = text.split("\n")
        self._file = file
        self._known: dict[Span, str] = {}

    def line(self, span: Span) -> str:
        """The stretch without comments and line breaks, cut where it gets long."""
        found = self._known.get(span)
        if found is None:
            found = self._known[span] = self._cut(span)
        return found

    def question_mark(self, condition: Span) -> tuple[int, int] | None:
        """Line and column of the `?` behind the condition of `?:`."""
        if condition.file != self._file:
            return None
        line, column = condition.end_line, condition.end_column
        rest = "\n".join((self._lines[line - 1][column - 1 :], *self._lines[line : line + 20]))
        match = _QUESTION.match(rest)
        if match is None:
            return None
        before = rest[: match.end() - 1]
        lines = before.count("\n")
        return line + lines, (len(before) - before.rfind("\n") if lines else column + len(before))

    def rest(self, span: Span) -> Span:
        """The file after a stretch; all of it if that is in a header."""
        line, column = (span.end_line, span.end_column) if span.file == self._file else (1, 1)
        return Span(self._file, line, column, len(self._lines), len(self._lines[-1]) + 1)

    def _cut(self, span: Span) -> str:
        if span.file != self._file or not 1 <= span.line <= span.end_line <= len(self._lines):
            return ""
        if span.line == span.end_line:
            text = self._lines[span.line - 1][span.column - 1 : span.end_column - 1]
            if text.isidentifier():
                text += self._arguments(span)
        else:
            lines = self._lines[span.line - 1 : min(span.end_line, span.line + 20)]
            whole = span.end_line <= span.line + 20
            last = lines[-1][: span.end_column - 1] if whole else lines[-1]
            text = "\n".join((lines[0][span.column - 1 :], *lines[1:-1], last))
        text = " ".join(_COMMENT.sub(" ", text[: 20 * _LIMIT]).split())
        return text if len(text) <= _LIMIT else text[: _LIMIT - 3] + "..."

    def _arguments(self, span: Span) -> str:
        """The arguments of a macro whose name alone the span covers."""
        rest = self._lines[span.line - 1][span.end_column - 1 :]
        if not rest.startswith("("):
            return ""
        depth = 0
        for at, character in enumerate(rest):
            depth += (character == "(") - (character == ")")
            if depth == 0:
                return rest[: at + 1]
        return ""

"""Write messages about syntax errors, and collect the errors and warnings of a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import InputError
from certus.frontend.lp.table import Token, table
from certus.frontend.source import Source

LIMIT: Final = 20  # most messages of one kind that are shown

# Groups of terminals with a common name, the largest first.
_GROUPS: Final = (
    ("a statement", ("IF", "WHILE", "GOTO", "RETURN", "ASSERT", "ASSUME", "BREAK", "CONTINUE", "LBRACE")),
    ("an expression", ("NUMBER", "TRUE", "FALSE", "UNKNOWN", "STAR", "MINUS", "NOT", "LPAR", "NAME")),
    ("an operator", ("OPERATOR", "STAR", "MINUS", "QUESTION")),
    ("a type", ("INT", "BOOL", "REAL")),
)
_MEMBERS: Final = {"a statement": ("INT", "BOOL", "REAL", "NAME", "SEMI")}  # further members of a group
_NAMES: Final = {"NAME": "a name", "NUMBER": "a number", "$END": "the end of the file"}


def unexpected(token: Token, expected: Sequence[str], source: Source) -> Diagnostic:
    """Return the diagnostic for an unexpected token."""
    span = source.span(token.start, max(token.end, token.start + (token.kind != "$END")))
    if token.kind == "BAD":
        if source.text.startswith("/*", token.start):
            span = source.span(token.start, token.start + 2)
            return Diagnostic("syntax-error", "This comment is never closed.", span=span, hint="Add `*/`.")
        shown = token.text if token.text.isprintable() else f"U+{ord(token.text):04X}"
        message = f"The character `{shown}` has no meaning here."
        return Diagnostic("syntax-error", message, span=span, hint="Remove it.")
    actual = "the file ends" if token.kind == "$END" else f"found `{_short(token.text)}`"
    message = f"Expected {_listed(_readable(expected))}, but {actual}."
    hint = None
    if token.text == "=" and "OPERATOR" in expected:
        hint = "Write `==` to compare."
    elif token.text in table().words and "NAME" in expected:
        hint = f"`{token.text}` is a keyword and cannot be a name: choose another name."
    return Diagnostic("syntax-error", message, span=span, hint=hint)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _readable(expected: Sequence[str]) -> list[str]:
    """Return the terminals in plain words, in a fixed order."""
    remaining = dict.fromkeys(sorted(expected))
    words = []
    for name, members in _GROUPS:
        if all(member in remaining for member in members):
            words.append(name)
            for member in (*members, *_MEMBERS.get(name, ())):
                remaining.pop(member, None)
    literal = {terminal: text for text, terminal in table().words.items()} | _PUNCTUATION
    return [_NAMES.get(kind) or f"`{literal[kind]}`" for kind in remaining] + words


_PUNCTUATION: Final = {
    "ASSIGN": "=",
    "COLON": ":",
    "COMMA": ",",
    "LBRACE": "{",
    "LPAR": "(",
    "MINUS": "-",
    "NOT": "!",
    "OPERATOR": "+",
    "QUESTION": "?",
    "RBRACE": "}",
    "RPAR": ")",
    "SEMI": ";",
    "STAR": "*",
}


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


class Findings:
    """The errors and warnings of one text."""

    def __init__(self, source: Source) -> None:
        self.source: Final = source
        self._errors: list[Diagnostic] = []
        self._warnings: list[Diagnostic] = []

    def error(self, code: str, message: str, start: int, end: int, hint: str | None = None) -> None:
        span = self.source.span(start, end)
        self._errors.append(Diagnostic(code, message, Severity.ERROR, span, hint))

    def warning(self, code: str, message: str, start: int, end: int, hint: str | None = None) -> None:
        span = self.source.span(start, end)
        self._warnings.append(Diagnostic(code, message, Severity.WARNING, span, hint))

    def raise_errors(self) -> None:
        """Raise an `InputError` if there are errors."""
        if self._errors:
            raise InputError(_first(self._errors, "errors"))

    def warnings(self) -> tuple[Diagnostic, ...]:
        return _first(self._warnings, "warnings")


def _first(diagnostics: Sequence[Diagnostic], kind: str) -> tuple[Diagnostic, ...]:
    """Return the first messages in source order, and a note on the number of further ones."""
    ordered = sorted(diagnostics, key=_position)
    more = len(ordered) - LIMIT
    if more <= 0:
        return tuple(ordered)
    note = Diagnostic(f"more-{kind}", f"There are {more} more {kind}, not shown.", Severity.NOTE)
    return (*ordered[:LIMIT], note)


def _position(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span
    return (span.line, span.column) if span else (0, 0)

"""Sentences about syntax errors, and the list in which static errors are gathered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import InputError
from certus.frontend.lp.table import Token, table
from certus.frontend.source import Source

LIMIT: Final = 20  # so many messages of one kind are shown

# Groups of terminals with a common name, the widest first.
_GROUPS: Final = (
    ("a statement", ("IF", "WHILE", "GOTO", "RETURN", "ASSERT", "ASSUME", "BREAK", "CONTINUE", "LBRACE")),
    ("an expression", ("NUMBER", "TRUE", "FALSE", "UNKNOWN", "STAR", "MINUS", "NOT", "LPAR", "NAME")),
    ("an operator", ("OPERATOR", "STAR", "MINUS", "QUESTION")),
    ("a type", ("INT", "BOOL")),
)
_MEMBERS: Final = {"a statement": ("INT", "BOOL", "NAME", "SEMI")}  # what else a group covers
_NAMES: Final = {"NAME": "a name", "NUMBER": "a number", "$END": "the end of the file"}


def unexpected(token: Token, expected: Sequence[str], source: Source) -> Diagnostic:
    """What to say about a token that does not fit."""
    span = source.span(token.start, max(token.end, token.start + (token.kind != "$END")))
    if token.kind == "BAD":
        if source.text.startswith("/*", token.start):
            span = source.span(token.start, token.start + 2)
            return Diagnostic("syntax-error", "This comment is never closed.", span=span, hint="Add `*/`.")
        shown = token.text if token.text.isprintable() else f"U+{ord(token.text):04X}"
        return Diagnostic("syntax-error", f"The character `{shown}` has no meaning here.", span=span)
    found = "the file ends" if token.kind == "$END" else f"found `{_short(token.text)}`"
    message = f"Expected {_listed(_readable(expected))}, but {found}."
    hint = None
    if token.text == "=" and "OPERATOR" in expected:
        hint = "Write `==` to compare."
    elif token.text in table().words and "NAME" in expected:
        hint = f"`{token.text}` is a word of the language and cannot be a name."
    return Diagnostic("syntax-error", message, span=span, hint=hint)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _readable(expected: Sequence[str]) -> list[str]:
    """The terminals in plain words, in a stable order."""
    left = dict.fromkeys(sorted(expected))
    words = []
    for name, members in _GROUPS:
        if all(member in left for member in members):
            words.append(name)
            for member in (*members, *_MEMBERS.get(name, ())):
                left.pop(member, None)
    literal = {terminal: text for text, terminal in table().words.items()} | _PUNCTUATION
    return [_NAMES.get(kind) or f"`{literal[kind]}`" for kind in left] + words


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
    """Errors and warnings found in one text."""

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
        """Raise an `InputError` if there is any error."""
        if self._errors:
            raise InputError(_first(self._errors, "errors"))

    def warnings(self) -> tuple[Diagnostic, ...]:
        return _first(self._warnings, "warnings")


def _first(found: Sequence[Diagnostic], kind: str) -> tuple[Diagnostic, ...]:
    """The first messages in source order, and how many more there are."""
    ordered = sorted(found, key=_position)
    more = len(ordered) - LIMIT
    if more <= 0:
        return tuple(ordered)
    note = Diagnostic(f"more-{kind}", f"There are {more} more {kind}, not shown.", Severity.NOTE)
    return (*ordered[:LIMIT], note)


def _position(diagnostic: Diagnostic) -> tuple[int, int]:
    span = diagnostic.span
    return (span.line, span.column) if span else (0, 0)

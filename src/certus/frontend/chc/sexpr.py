"""Read S-expressions with positions, one command of a script at a time.

A script is read in one pass without recursion, and only one command is kept in memory, so the time budget is
the only limit on the size of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NoReturn

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.frontend.source import Source

_TOKEN: Final = re.compile(
    r"""\s+ | ;[^\n]*
    | (?P<open>\() | (?P<close>\))
    | (?P<string>"(?:[^"]|"")*") | \|(?P<quoted>[^|\\]*)\| | (?P<word>[^\s()";|]+)
    | (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)
_PATIENCE: Final = 50_000  # tokens between two checks of the budget


class Word:
    """A symbol, literal, keyword or string; `quoted` words are always symbols or strings."""

    __slots__ = ("at", "end", "quoted", "text")

    def __init__(self, text: str, at: int, end: int, *, quoted: bool = False) -> None:
        self.text: Final = text
        self.at: Final = at
        self.end: Final = end
        self.quoted: Final = quoted


class Group:
    """A parenthesised list."""

    __slots__ = ("at", "end", "items")

    def __init__(self, at: int) -> None:
        self.items: Final[list[Node]] = []
        self.at: Final = at
        self.end = at + 1

    @property
    def head(self) -> str:
        """Return the first word, or an empty text."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Word) else ""


Node = Word | Group


def read_commands(source: Source, budget: Budget) -> Iterator[Group]:
    """Yield the commands of a script; raise `InputError` where it is not an S-expression."""
    stack: list[Group] = []
    for number, match in enumerate(_TOKEN.finditer(source.text)):
        if number % _PATIENCE == 0:
            budget.check()
        kind = match.lastgroup
        if kind is None:
            continue
        start, end = match.span()
        if kind == "open":
            group = Group(start)
            if stack:
                stack[-1].items.append(group)
            stack.append(group)
        elif kind == "close":
            if not stack:
                refuse(source, start, end, "This parenthesis closes nothing.", "Remove it.")
            group = stack.pop()
            group.end = end
            if not stack:
                yield group
        elif kind == "wrong":
            what = "quoted symbol" if match[0] == "|" else "string"
            refuse(source, start, end, f"This {what} does not end.", f"Add `{match[0]}`.")
        elif not stack:
            message = f"A command is expected here, not `{match[0][:40]}`."
            refuse(source, start, end, message, "Write commands in parentheses.")
        else:
            quoted = kind != "word"
            text = match["quoted"] if kind == "quoted" else match[0]
            stack[-1].items.append(Word(text, start, end, quoted=quoted))
    if stack:
        at = stack[-1].at
        refuse(source, at, at + 1, "This parenthesis is never closed.", "Add `)`; the file may be truncated.")


def refuse(source: Source, at: int, end: int, message: str, hint: str | None = None) -> NoReturn:
    """Raise `InputError` for a malformed text."""
    raise InputError([Diagnostic("bad-smtlib", message, span=source.span(at, end), hint=hint)])

"""Tokens of textual LLVM IR, and a cursor over them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

Item = TypeVar("Item")

# In order: names, metadata, groups of attributes, strings, numbers, words, punctuation.
_TOKEN: Final = re.compile(
    r'[%@$]"[^"]*"|[%@$][-\w$.]+|!"[^"]*"|![\w.]*|#\d+|c?"[^"]*"'
    r"|-?\d+\.\d*(?:[eE][-+]?\d+)?|-?(?:f?0x)\w+|-?\d+|[A-Za-z_][\w.$]*|\.\.\.|\S"
)
_ESCAPE: Final = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")
_LOCATION: Final = re.compile(r"!dbg !(\d+)")
_DEPTH: Final = {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}


class NotUnderstood(Exception):
    """A line of IR that the reader does not understand. `location` is the number of its debug location."""

    def __init__(self, what: str, line: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        location = _LOCATION.search(line)
        self.location = int(location[1]) if location else None


def refusal(line: str, error: Exception) -> NotUnderstood:
    """Return the refusal of a line, given the error that reading it raised."""
    return NotUnderstood(error.what if isinstance(error, NotUnderstood) else "the line", line)


def tokens(text: str) -> list[str]:
    """Split text into tokens, followed by an empty one. A character that starts no token of IR is a token
    itself."""
    words: list[str] = _TOKEN.findall(text)
    words.append("")
    return words


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def name_of(token: str) -> str:
    """Return the name in a token like `@f`, `%"a b"` or `$c`."""
    return text_of(token) if token.endswith('"') else token[1:]


def bytes_of(token: str) -> bytes:
    """Return the contents of a string token, with or without a prefix (`c"..."`, `!"..."`)."""
    raw = token[token.index('"') + 1 : -1].encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]), raw)


def text_of(token: str) -> str:
    """Return the contents of a string token as text."""
    return bytes_of(token).decode("utf-8", "replace")


class Cursor:
    """A position in a list of tokens that ends with an empty one."""

    words: list[str]
    at: int

    def start(self, words: list[str]) -> None:
        """Go to the first of some other tokens."""
        self.words, self.at = words, 0

    def accept(self, word: str) -> bool:
        """Skip a token if it is next; return whether it was."""
        if self.words[self.at] == word:
            self.at += 1
            return True
        return False

    def expect(self, *words: str) -> None:
        """Skip tokens that must be next."""
        for word in words:
            if self.words[self.at] != word:
                raise NotUnderstood(f"`{self.words[self.at]}` instead of `{word}`")
            self.at += 1

    def take(self) -> str:
        """Skip and return the next token."""
        self.at += 1
        return self.words[self.at - 1]

    def name(self) -> str:
        """Read a name like `@f` or `%x`."""
        if self.words[self.at][:1] not in ("@", "%"):
            raise NotUnderstood(f"the name `{self.words[self.at]}`")
        return name_of(self.take())

    def end(self) -> None:
        """Check that no token is left."""
        if self.words[self.at]:
            raise NotUnderstood(f"`{self.words[self.at]}` at the end of a line")

    def listed(self, closing: str, read: Callable[[], Item]) -> list[Item]:
        """Read items that are separated by commas, up to a closing bracket."""
        items = []
        while not self.accept(closing):
            items.append(read())
            if self.words[self.at] != closing:
                self.expect(",")
        return items

    def skip_to(self, *ends: str) -> None:
        """Go to the next token in `ends` that is outside all brackets."""
        words, at, depth = self.words, self.at, 0
        while depth or words[at] not in ends:
            if not words[at]:
                raise NotUnderstood("a bracket that is not closed")
            depth += _DEPTH.get(words[at], 0)
            at += 1
        self.at = at

    def attachment(self) -> tuple[str, int]:
        """Read metadata attached to a symbol: `!kind !7`."""
        kind, number = self.take(), self.take()
        if kind[:1] != "!" or not kind[1:2].isalpha() or number[:1] != "!":
            raise NotUnderstood(f"`{kind} {number}`")
        return kind[1:], int(number[1:])

"""Tokens of textual LLVM IR, names and strings."""

from __future__ import annotations

import re
from typing import Final

# In order: names, metadata, groups of attributes, strings, numbers, words, punctuation.
_TOKEN: Final = re.compile(
    r'[%@$]"[^"]*"|[%@$][-\w$.]+|!"[^"]*"|![\w.]*|#\d+|c?"[^"]*"'
    r"|-?\d+\.\d*(?:[eE][-+]?\d+)?|-?(?:f?0x)\w+|-?\d+|[A-Za-z_][\w.$]*|\.\.\.|\S"
)
_ESCAPE: Final = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")
_LOCATION: Final = re.compile(r"!dbg !(\d+)")


class NotUnderstood(Exception):
    """A line of IR that the reader does not know. `location` is the number of its debug location, if the
    line has one."""

    def __init__(self, what: str, line: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        found = _LOCATION.search(line)
        self.location = int(found[1]) if found else None


def tokens(text: str) -> list[str]:
    """Split a line, or several, into tokens. What is no token of IR is one of a single character. The last
    token is empty."""
    found: list[str] = _TOKEN.findall(text)
    found.append("")
    return found


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def name_of(token: str) -> str:
    """Return the name that a token like `@f`, `%"a b"` or `$c` stands for."""
    plain = token[1:]
    return text_of(plain) if plain.startswith('"') else plain


def bytes_of(token: str) -> bytes:
    """Return the contents of a string token, with or without a prefix (`c"..."`, `!"..."`)."""
    raw = token[token.index('"') + 1 : -1].encode("utf-8", "surrogateescape")
    if b"\\" not in raw:
        return raw
    return _ESCAPE.sub(lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 16)]), raw)


def text_of(token: str) -> str:
    """Return the contents of a string token as text."""
    return bytes_of(token).decode("utf-8", "replace")


def after_parenthesis(words: list[str], at: int) -> int:
    """Return the position behind the parenthesis that closes the one at `at`."""
    depth = 0
    for position in range(at, len(words)):
        word = words[position]
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
            if depth == 0:
                return position + 1
    raise NotUnderstood("a parenthesis is not closed")

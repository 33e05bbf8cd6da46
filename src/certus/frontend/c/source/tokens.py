"""The tokens of a C file, by their places in its physical lines.

Comments, preprocessor lines and what stands under `#if 0` are no tokens. Lines that end in a backslash are
joined, so that a token may cover several lines. Digraphs are the tokens they stand for. Any text has tokens:
what is no C is taken character by character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum
from typing import Final

from certus.core.diagnostic import Span

_SPLICE: Final = re.compile(r"\\[ \t]*\r?\n")
_TOKEN: Final = re.compile(
    r"""(?:[ \t\r\f\v]++|//[^\n]*+|/\*(?s:.*?)(?:\*/|\Z))*+"""
    r"""(?:(\n\s*)|("""
    r"""[^\W\d][\w$]*|\$[\w$]*"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\.?\d(?:[eEpP][+-]|[\w.]|'\w)*"""
    r"""|<:|:>|<%|%>|%:"""
    r"""|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S))""",
    re.DOTALL,
)
_DIRECTIVE: Final = re.compile(
    r"""(?:/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\n])*""", re.DOTALL
)
_NAME: Final = re.compile(r"\s*([a-z]+)\s*(.*)", re.DOTALL)
_DIGRAPHS: Final = {"<:": "[", ":>": "]", "<%": "{", "%>": "}", "%:": "#"}
_OPENING: Final = frozenset("([{")
_CLOSING: Final = {")": "(", "]": "[", "}": "{"}
_Stack = tuple[int, "_Stack"] | None  # open brackets, the innermost first


class Conditional(Enum):
    """What a preprocessor line does to the text that follows."""

    BEGIN = "#if"
    OTHERWISE = "#else"
    END = "#endif"


@dataclass(frozen=True, slots=True)
class Mark:
    """A conditional line that stands before the token `token`."""

    token: int
    kind: Conditional


class Tokens:
    """The tokens of a text, numbered. `texts` are what is written, without splices; `starts` and `ends` are
    offsets into the text; `partners` has the bracket that belongs to one, -1 for other tokens and brackets
    without one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.partners: list[int] = []
        self.marks: list[Mark] = []
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._splices: list[int] = []  # where lines are joined, in the joined text
        self._removed: list[int] = [0]  # how many characters were removed before
        self._ascii = text.isascii()
        self._read(self._joined(text))

    def __len__(self) -> int:
        return len(self.texts)

    # ------------------------------------------------------------------------------------ places

    def at(self, line: int, column: int) -> int | None:
        """The token that covers a place: lines and columns, from 1, in characters."""
        if not 1 <= line <= len(self._lines):
            return None
        offset = self._lines[line - 1] + column - 1
        found = bisect_right(self.starts, offset) - 1
        return found if found >= 0 and offset < self.ends[found] else None

    def first_in(self, line: int) -> int | None:
        """The first token that starts in a line."""
        if not 1 <= line <= len(self._lines):
            return None
        found = bisect_right(self.starts, self._lines[line - 1] - 1)
        return found if found < len(self) and self.place(self.starts[found])[0] == line else None

    def column(self, line: int, in_bytes: int) -> int:
        """The column in characters of one in bytes, as Clang counts them."""
        if self._ascii or not 1 <= line <= len(self._lines):
            return in_bytes
        start = self._lines[line - 1]
        written = self.text[start : start + in_bytes].encode("utf-8", "surrogateescape")
        return len(written[: in_bytes - 1].decode("utf-8", "ignore")) + 1

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def span(self, first: int, last: int, file: str) -> Span:
        """The stretch from one token to another, both included."""
        return Span(file, *self.place(self.starts[first]), *self.place(self.ends[last]))

    # ----------------------------------------------------------------------------------- reading

    def _joined(self, text: str) -> str:
        if "\\" not in text:
            return text
        parts, at, removed = [], 0, 0
        for match in _SPLICE.finditer(text):
            parts.append(text[at : match.start()])
            at = match.end()
            self._splices.append(match.start() - removed)
            removed += match.end() - match.start()
            self._removed.append(removed)
        parts.append(text[at:])
        return "".join(parts)

    def _offset(self, joined: int) -> int:
        """The place in the text of one in the joined text."""
        return joined + self._removed[bisect_right(self._splices, joined)]

    def _read(self, joined: str) -> None:
        at, fresh, open_ = 0, True, None  # type: int, bool, _Stack
        before: list[_Stack] = []  # the brackets that were open where conditional lines began
        skipping = 0  # how many conditional lines deep in what `#if 0` excludes
        match_at, spliced = _TOKEN.match, bool(self._splices)
        while (match := match_at(joined, at)) is not None:
            at = match.end()
            if match.lastindex == 1:
                fresh = True
                continue
            written = match[2]
            if fresh and written in ("#", "%:"):
                directive = _DIRECTIVE.match(joined, at)
                assert directive is not None
                at = directive.end()
                name = _NAME.match(directive[0])
                skipping, open_ = self._conditional(name, skipping, before, open_)
                continue
            fresh = False
            if skipping:
                continue
            written = _DIGRAPHS.get(written, written)
            number, start = len(self.texts), match.start(2)
            self.texts.append(written)
            self.starts.append(self._offset(start) if spliced else start)
            self.ends.append(self._offset(at - 1) + 1 if spliced else at)
            self.partners.append(-1)
            if written in _OPENING:
                open_ = (number, open_)
            elif written in _CLOSING:
                open_ = self._close(number, _CLOSING[written], open_)

    def _close(self, number: int, wanted: str, open_: _Stack) -> _Stack:
        """A bracket closes the last that is open. Parentheses that a brace closes have no partner, and
        neither has one that would close a brace."""
        rest = open_
        while rest is not None:
            opened, rest = rest
            if self.texts[opened] == wanted:
                self.partners[opened], self.partners[number] = number, opened
                return rest
            if self.texts[opened] == "{":
                return open_
        return open_

    def _conditional(
        self, name: re.Match[str] | None, skipping: int, before: list[_Stack], open_: _Stack
    ) -> tuple[int, _Stack]:
        """Alternatives begin with the brackets that were open before the first; what follows them goes on
        from the last. Of `#if 0` only what is behind `#else` is read."""
        word = name[1] if name is not None else ""
        if word.startswith("if"):
            excluded = name is not None and word == "if" and name[2].split("/")[0].strip() == "0"
            if skipping or excluded:
                return skipping + 1, open_
            before.append(open_)
            self.marks.append(Mark(len(self), Conditional.BEGIN))
        elif word in ("else", "elif", "elifdef", "elifndef"):
            if skipping:
                if skipping == 1:
                    before.append(open_)
                    self.marks.append(Mark(len(self), Conditional.BEGIN))
                return (0 if skipping == 1 else skipping), open_
            if before:
                self.marks.append(Mark(len(self), Conditional.OTHERWISE))
                return skipping, before[-1]
        elif word == "endif":
            if skipping:
                return skipping - 1, open_
            if before:
                before.pop()
                self.marks.append(Mark(len(self), Conditional.END))
        return skipping, open_

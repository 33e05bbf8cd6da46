"""The tokens of a C file, with their positions in its physical lines, and the declarators among them.

Comments, preprocessor lines and text under `#if 0` have no tokens. Lines that end in a backslash are joined,
so a token may cover several lines. Digraphs become the tokens they stand for. Every text has tokens: text
that is not C is split into single characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final

_SPLICE: Final = re.compile(r"\\[ \t]*\r?\n")
_TOKEN: Final = re.compile(
    r"""(?:[^\S\n]++|//[^\n]*+|/\*.*?(?:\*/|\Z)|(\n))*+"""  # a directive starts a line
    r"""(?:(?(1)(?:\#|%:)|(?!))((?:/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\n])*)|("""
    r"""[^\W\d][\w$]*|\$[\w$]*"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\.?\d(?:[eEpP][+-]|[\w.]|'\w)*"""
    r"""|<:|:>|<%|%>|%:"""
    r"""|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S)|\Z)""",
    re.DOTALL,
)
_DIRECTIVE: Final = re.compile(r"\s*([a-z]+)\s*(.*)", re.DOTALL)
_DIGRAPHS: Final = {"<:": "[", ":>": "]", "<%": "{", "%>": "}", "%:": "#"}
_BRACKETS: Final = {"(": "", "[": "", "{": "", ")": "(", "]": "[", "}": "{"}  # closing: opening
_Stack = tuple[int, "_Stack"] | None  # open brackets, the innermost first


class Tokens:
    """The numbered tokens of a text. `texts` are the tokens without splices; `starts` and `ends` are offsets
    into the text; `partners` has the matching bracket, or -1. `marks` are the preprocessor lines `if`, `else`
    and `endif` of conditional text, each with the number of the next token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.partners: list[int] = []
        self.marks: list[tuple[int, str]] = []
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._ascii = text.isascii()
        splices = list(_SPLICE.finditer(text)) if "\\" in text else []
        self._read(_SPLICE.sub("", text) if splices else text)
        if splices:
            self._move_behind(splices)

    def __len__(self) -> int:
        return len(self.texts)

    # ------------------------------------------------------------------------------------ places

    def at(self, line: int, column: int) -> int | None:
        """Return the token at a place; lines and columns, in characters, count from 1."""
        if not 1 <= line <= len(self._lines):
            return None
        offset = self._lines[line - 1] + column - 1
        token = bisect_right(self.starts, offset) - 1
        return token if token >= 0 and offset < self.ends[token] else None

    def in_line(self, line: int) -> range:
        """Return the tokens that start in a line."""
        if not 1 <= line <= len(self._lines):
            return range(0)
        behind = self._lines[line] if line < len(self._lines) else len(self.text) + 1
        return range(bisect_left(self.starts, self._lines[line - 1]), bisect_left(self.starts, behind))

    def column(self, line: int, in_bytes: int) -> int:
        """Convert a column in bytes, as Clang counts, to one in characters."""
        if self._ascii or not 1 <= line <= len(self._lines):
            return in_bytes
        start = self._lines[line - 1]
        written = self.text[start : start + in_bytes].encode("utf-8", "surrogateescape")
        return len(written[: in_bytes - 1].decode("utf-8", "ignore")) + 1

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    # ----------------------------------------------------------------------------------- reading

    def _read(self, joined: str) -> None:
        """Read a text without splices."""
        texts, starts, ends, partners = self.texts, self.starts, self.ends, self.partners
        open_: _Stack = None
        before: list[_Stack] = []  # the brackets that were open where conditional text began
        skipping = 0  # nesting depth of conditional text that `#if 0` excludes
        for match in _TOKEN.finditer("\n" + joined):
            _, directive, text = match.groups()
            if directive is not None:
                skipping, open_ = self._conditional(directive, skipping, before, open_)
            elif text is not None and not skipping:
                text = _DIGRAPHS.get(text, text)
                texts.append(text)
                starts.append(match.start(3) - 1)
                ends.append(match.end() - 1)
                partners.append(-1)
                opening = _BRACKETS.get(text)
                if opening is not None:
                    number = len(texts) - 1
                    open_ = self._close(number, opening, open_) if opening else (number, open_)

    def _move_behind(self, splices: list[re.Match[str]]) -> None:
        """Turn offsets in the joined text into offsets in the text with splices."""
        places, removed = list[int](), [0]
        for splice in splices:
            places.append(splice.start() - removed[-1])
            removed.append(removed[-1] + splice.end() - splice.start())
        self.starts = [at + removed[bisect_right(places, at)] for at in self.starts]
        self.ends = [at + removed[bisect_right(places, at - 1)] for at in self.ends]

    def _close(self, number: int, wanted: str, open_: _Stack) -> _Stack:
        """Match a closing bracket with the innermost open one of its kind. It closes parentheses on the way,
        which have no partner then, but no brace."""
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
        self, directive: str, skipping: int, before: list[_Stack], open_: _Stack
    ) -> tuple[int, _Stack]:
        """Handle a preprocessor line. Each alternative begins with the brackets that were open before the
        first one, and the last one decides which are open after `#endif`. Of `#if 0` only the `#else` part
        is read."""
        name = _DIRECTIVE.match(directive)
        word, condition = ("", "") if name is None else (name[1], name[2])
        begins, otherwise = word.startswith("if"), word.startswith("el")
        if begins and (skipping or (word == "if" and condition.split("/")[0].strip() == "0")):
            return skipping + 1, open_
        if skipping == 1 and otherwise:
            skipping, begins = 0, True
        if skipping:
            return skipping - (word == "endif"), open_
        if begins:
            before.append(open_)
            self.marks.append((len(self), "if"))
        elif before and otherwise:
            open_ = before[-1]
            self.marks.append((len(self), "else"))
        elif before and word == "endif":
            before.pop()
            self.marks.append((len(self), "endif"))
        return 0, open_


TAGS: Final = frozenset(("struct", "union", "enum"))
_PARENTHESES: Final = """
__attribute__ __attribute typeof __typeof__ __typeof typeof_unqual _Alignas alignas __declspec _Atomic _BitInt
"""
_ASSEMBLY: Final = frozenset(("asm", "__asm__", "__asm"))
_PLAIN: Final = """
void char short int long float double signed unsigned _Bool bool _Complex __complex__ const volatile restrict
__const __const__ __volatile__ __restrict __restrict__ __signed__ static extern auto register typedef inline
__inline __inline__ _Noreturn _Thread_local __thread thread_local constexpr __extension__ __int128
__builtin_va_list _Static_assert static_assert __auto_type
"""
_STATEMENTS: Final = "if while for do switch case default return goto break continue else sizeof"
WITH_PARENTHESES: Final = frozenset(_PARENTHESES.split()) | _ASSEMBLY
SPECIFIERS: Final = frozenset((*_PLAIN.split(), *_PARENTHESES.split())) | TAGS
_KEYWORDS: Final = frozenset(_STATEMENTS.split())
_AFTER_NAME: Final = frozenset(("=", ",", ";", "[", "(", ":", ")", "__attribute__")) | _ASSEMBLY


@dataclass(frozen=True, slots=True)
class Declarator:
    """The tokens from `first` to `last`; `name` is the token of the declared name. `specifiers` is the last
    token of the type that all declarators of the declaration share; `leads` tells whether it is the first
    declarator."""

    name: int
    first: int
    last: int
    specifiers: int
    leads: bool


def is_word(text: str) -> bool:
    """Return whether a token is an identifier and not a keyword of statements."""
    return text.isidentifier() and text not in _KEYWORDS


def is_declaration(tokens: Tokens, first: int) -> bool:
    """Return whether the statement that starts with a token looks like a declaration."""
    texts = tokens.texts
    if texts[first] in SPECIFIERS:
        return True
    if not is_word(texts[first]):
        return False
    at = first + 1
    while at < len(texts) and texts[at] in ("*", "const", "volatile", "restrict"):
        at += 1
    if at >= len(texts) or not is_word(texts[at]) or texts[at] in WITH_PARENTHESES:
        return False
    following = texts[at + 1] if at + 1 < len(texts) else ";"
    return at == first + 1 or following in ("=", ",", ";", "[")


def declarators(tokens: Tokens, first: int, last: int) -> list[Declarator]:
    """Return the declarators of the declaration from one token to another, in order."""
    start = _after_specifiers(tokens, first, last)
    declared: list[Declarator] = []
    at = begin = start
    texts, partners = tokens.texts, tokens.partners
    while at <= last + 1 and begin <= last:
        if at > last or texts[at] == ",":
            name = next((n for n in range(begin, min(at, last + 1)) if is_word(texts[n])), begin)
            declared.append(Declarator(name, begin, min(at, last + 1) - 1, start - 1, not declared))
            begin = at + 1
            at += 1
        else:
            at = max(at, partners[at]) + 1
    return declared


def _after_specifiers(tokens: Tokens, first: int, last: int) -> int:
    """Return the first token of the first declarator."""
    texts, partners = tokens.texts, tokens.partners
    at, typed = first, False
    while at <= last:
        text = texts[at]
        following = texts[at + 1] if at < last else ";"
        if text in WITH_PARENTHESES:
            at = max(at + 1, partners[at + 1]) + 1 if following == "(" else at + 1
            typed = True
        elif text in TAGS:
            at += 1
            while at <= last and texts[at] in WITH_PARENTHESES and at < last:
                at = max(at + 1, partners[at + 1]) + 1
            at += at <= last and is_word(texts[at])
            at = max(at, partners[at]) + 1 if at <= last and texts[at] == "{" else at
            typed = True
        elif text in SPECIFIERS:
            at += 1
            typed = True
        elif is_word(text) and following not in _AFTER_NAME and not (following == "*" and typed):
            at += 1  # the name of a type
            typed = True
        else:
            break
    return at

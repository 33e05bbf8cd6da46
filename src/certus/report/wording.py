"""Pieces of source text: whether they name a place or a value, and which part of them does.

Reports have the text of a statement and the values it was executed with, but not its syntax tree. What is
guessed here makes a name more or less telling, but no value another."""

from __future__ import annotations

import re
from typing import Final

from certus.core.program import Call

WIDEST: Final = 60  # letters of a name made from the source
_PLACE: Final = re.compile(r"[\w\s.\[\]*&+\-()]*>?[\w\s.\[\]*&+\-()>]*")  # no comparison, no assignment
_SUBSCRIPT: Final = re.compile(r"\[[^\[\]]*\]")
_TYPES: Final = re.compile(
    r"^(?:(?:const|static|volatile|unsigned|signed|long|short|int|char|(?:struct|union|enum)\s+\w+)\s+)+"
)
_COUNTED: Final = re.compile(r"(?:\+\+|--)?([^-+=]+(?:->[^-+=]+)*)(?:\+\+|--)?")
_ASSIGNED: Final = re.compile(r"([^=<>!]*?(?:->[^=<>!]*?)*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_STATEMENT: Final = re.compile(
    r"(?:return|if|while|for|switch|assert|assume)\b|.*(?:;|\+\+|--|(?<![=<>!])=(?!=))", re.DOTALL
)
_MARKER: Final = re.compile(r'#\s*\d+ "[^"]*"(?: \d+)*\s*')  # a line marker of the preprocessor
_CONDITION: Final = (
    re.compile(r"(?:if|while|switch|assume|assert)\s*\((.*)\)\s*;?", re.DOTALL),
    re.compile(r"for\s*\(;(.*);\)", re.DOTALL),
)


def is_place(text: str) -> bool:
    """Whether the text names a place in memory, rather than a value or a whole statement."""
    begun = re.match(r"[*&(\s]*[A-Za-z_]", text) is not None and re.search(r"\w\s*\(", text) is None
    return begun and len(text) <= WIDEST and _PLACE.fullmatch(_SUBSCRIPT.sub("[]", text)) is not None


def left_side(text: str) -> str:
    """Of an assignment, what it is to; `int a[2] = ...`, `x += 1` and `x++` have one, too."""
    found = _COUNTED.fullmatch(text.rstrip(";")) if "++" in text or "--" in text else None
    found = found or _ASSIGNED.match(text)
    return "" if found is None else _TYPES.sub("", found[1])


def is_statement(text: str) -> bool:
    """Whether the text does or decides something, rather than being a value."""
    return _STATEMENT.match(text) is not None


def without_markers(text: str) -> str:
    """Without line markers of the preprocessor that stand in the middle of it."""
    return _MARKER.sub("", text)


def behind_arrow(text: str) -> tuple[bool, str]:
    """What stands behind the last arrow outside of brackets, if there is one."""
    depth = 0
    for n in range(len(text) - 1, 0, -1):
        depth += {"]": 1, "[": -1}.get(text[n], 0)
        if depth == 0 and text[n - 1 : n + 1] == "->":
            return True, text[n + 1 :]
    return False, text


def call_text(op: Call, text: str) -> str:
    """What stands for the result of a call."""
    name = op.procedure.lstrip("$")  # names of ours begin with it
    whole = text.startswith(name) and len(text) <= WIDEST and not is_statement(text)
    return text if whole else f"{name}(...)"


def position_in(name: str, text: str) -> int:
    """Where a name, or what it begins with, stands in the source, for an order that a reader expects."""
    for words in (name, re.split(r"\W", name, maxsplit=1)[0]):
        found = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text)
        if words and found is not None:
            return found.start()
    return len(text)


def condition_of(words: str) -> str:
    """The condition in the text of a branch."""
    for form in _CONDITION:
        found = form.fullmatch(words.strip())
        if found is not None:
            return found[1].strip()
    return words.strip().rstrip(";")

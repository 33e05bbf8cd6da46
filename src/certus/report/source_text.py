"""Classify pieces of source text: does a piece name a place in memory, a value or a statement?

Reports have the text of a statement and the values of its execution, but no syntax tree. A wrong guess here
makes a name less helpful, but never changes a value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from certus.core.program import Call

WIDEST: Final = 60  # characters of source text that may serve as a name
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
    """Say whether the text names a place in memory, rather than a value or a statement."""
    begun = re.match(r"[*&(\s]*[A-Za-z_]", text) is not None and re.search(r"\w\s*\(", text) is None
    return begun and len(text) <= WIDEST and _PLACE.fullmatch(_SUBSCRIPT.sub("[]", text)) is not None


def left_side(text: str) -> str:
    """Return the left side of an assignment, also for `int a[2] = ...`, `x += 1` and `x++`."""
    match = _COUNTED.fullmatch(text.rstrip(";")) if "++" in text or "--" in text else None
    match = match or _ASSIGNED.match(text)
    return "" if match is None else _TYPES.sub("", match[1])


def is_statement(text: str) -> bool:
    """Say whether the text is a statement or condition, rather than a value."""
    return _STATEMENT.match(text) is not None


def without_markers(text: str) -> str:
    """Remove line markers of the preprocessor."""
    return _MARKER.sub("", text)


def behind_arrow(text: str) -> tuple[bool, str]:
    """Return whether there is a `->` outside of brackets, and the text after the last one."""
    depth = 0
    for n in range(len(text) - 1, 0, -1):
        depth += {"]": 1, "[": -1}.get(text[n], 0)
        if depth == 0 and text[n - 1 : n + 1] == "->":
            return True, text[n + 1 :]
    return False, text


def call_text(op: Call, text: str) -> str:
    """Return a text for the result of a call."""
    name = op.procedure.lstrip("$")  # internal names start with it
    whole = text.startswith(name) and len(text) <= WIDEST and not is_statement(text)
    return text if whole else f"{name}(...)"


def position_in(name: str, text: str) -> int:
    """Return the position of a name, or of its first word, in the source text, to order values as there."""
    for words in (name, re.split(r"\W", name, maxsplit=1)[0]):
        match = re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text)
        if words and match is not None:
            return match.start()
    return len(text)


def condition_of(words: str) -> str:
    """Return the condition in the text of a branch."""
    for form in _CONDITION:
        match = form.fullmatch(words.strip())
        if match is not None:
            return match[1].strip()
    return words.strip().rstrip(";")


def string_literal(characters: Sequence[int]) -> str:
    """Return characters as a string literal of C; of long ones only the first."""
    shown = "".join(_escaped(c) for c in characters[:WIDEST])
    return f'"{shown}"' + "..." * (len(characters) > WIDEST)


def _escaped(character: int) -> str:
    if chr(character) in '"\\':
        return f"\\{chr(character)}"
    return chr(character) if 32 <= character < 127 else f"\\{character:03o}"

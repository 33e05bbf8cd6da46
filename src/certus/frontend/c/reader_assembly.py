"""Inline assembly as it is written: whether it has no instructions and sets nothing.

An operand that is read and written (`"+r"(x)`) keeps its value if there are no instructions; one that is only
written (`"=r"(x)`) gets whatever is in the register.
"""

from __future__ import annotations

import re
from typing import Final

_START: Final = re.compile(r"(?:__)?asm(?:__)?\s*(?:(?:__)?(?:volatile|inline|goto)(?:__)?\s*)*\(")
_TOKEN: Final = re.compile(r'/\*.*?\*/|//[^\n]*|\s+|"((?:[^"\\]|\\.)*)"|(\w+)|(.)', re.DOTALL)
_NOTHING: Final = re.compile(r"(?:\s|\\[nt]|/\*.*?\*/|#(?:(?!\\n).)*(?:\\n|$))*$")


def is_empty_assembly(text: str) -> bool:
    """Whether a whole `asm` statement, without the semicolon, has no instructions and no results."""
    start = _START.match(text)
    if start is None:
        return False
    sections: list[list[str]] = [[""]]  # by colons, the strings of each: those of one operand together
    depth, at = 1, start.end()
    while depth and at < len(text):
        token = _TOKEN.match(text, at)
        assert token is not None  # any character is one
        at = token.end()
        string, word, mark = token.groups()
        depth += (mark in ("(", "[")) - (mark in (")", "]"))
        if depth > 1 or (depth == 1 and mark in (")", "]")):
            continue
        if word is not None or (mark is not None and mark not in ":,)"):
            return False  # a macro, perhaps
        if string is not None:
            sections[-1][-1] += string
        elif mark == ":":
            sections.append([""])
        elif mark == ",":
            sections[-1].append("")
    if depth or at != len(text) or not _NOTHING.match(sections[0][0]):
        return False
    return all(output.startswith("+") for output in sections[1] if output) if len(sections) > 1 else True

"""Names of Boolean variables that tell their predicates: `x <= 5` is `x_le_5`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from certus.core import build
from certus.core.sorts import BOOL
from certus.core.terms import Expr

_WORDS: Final = {
    "<=": "le",
    ">=": "ge",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    ">": "gt",
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "over",
    "%": "mod",
    "&&": "and",
    "||": "or",
    "!": "not",
}
_TOKEN: Final = re.compile(r"[A-Za-z_0-9]+|&&|\|\||[<>=!]=|[-<>+*/%!]")
_LONGEST: Final = 40
_KEYWORDS: Final = (
    *("int", "bool", "void", "if", "else", "while", "goto", "break", "continue", "return"),
    *("assert", "assume", "true", "false", "unknown", "main", "ERROR"),
)


class Names:
    """Gives every variable a name of its own."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken, *_KEYWORDS}

    def variable(self, text: str) -> Expr:
        """A Boolean variable for the predicate with this text."""
        words = [_WORDS.get(token, token) for token in _TOKEN.findall(text)]
        base = "_".join(words)
        if not base or len(base) > _LONGEST:
            base = "p"
        elif base[0].isdigit():
            base = f"p_{base}"
        name = base if base != "p" else "p1"
        number = 1
        while name in self._taken:
            number += 1
            name = f"{base}{number}" if base == "p" else f"{base}_{number}"
        self._taken.add(name)
        return build.var(name, BOOL)

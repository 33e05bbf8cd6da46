"""Parts of expressions that take a step of their own: assignments and increments inside of others.

Debug information names the place of their operators.
"""

from __future__ import annotations

from typing import Final

from certus.frontend.c.source.declarators import is_word
from certus.frontend.c.source.parts import Kind
from certus.frontend.c.source.statements import Statements, Written

_ASSIGNMENTS: Final = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
_INCREMENTS: Final = ("++", "--")
_BEFORE: Final = _ASSIGNMENTS | {
    "(",
    "[",
    "{",
    "}",
    ",",
    ";",
    "?",
    ":",
    "&&",
    "||",
    "return",
    "case",
    "else",
    "do",
}
_BEHIND: Final = frozenset((",", ";", ")", "]", "}"))
_UNARY: Final = frozenset(("*", "&", "+", "-", "!", "~", "++", "--"))


def effect(statements: Statements, line: int, column: int) -> Written | None:
    """The assignment or increment whose operator is at a place; None if there is none. That of a declaration
    is its declarator, with `Statements.at`."""
    tokens = statements.tokens
    token = tokens.at(line, column)
    number = None if token is None else statements.part(token)
    if token is None or number is None:
        return None
    lowest, highest = statements.parts[number].first, statements.parts[number].last
    if tokens.texts[token] in _INCREMENTS:
        first, last = _increment(statements, token, lowest, highest)
    elif tokens.texts[token] in _ASSIGNMENTS and statements.declarator(token) is None:
        first, last = _start(statements, token, lowest), _end(statements, token, highest)
    else:
        return None
    span = tokens.span(first, last, statements.file)
    return Written(Kind.EXPRESSION, statements.text(first, last), span, span)


def _start(statements: Statements, token: int, lowest: int) -> int:
    """The first token of what is assigned to."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    while token > lowest and texts[token - 1] not in _BEFORE:
        before = token - 1
        token = partners[before] if lowest <= partners[before] < before else before
    return token


def _end(statements: Statements, token: int, highest: int) -> int:
    """The last token of what is assigned: a `:` ends it unless it belongs to a `?` in it."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    choices = 0
    while token < highest and texts[token + 1] not in _BEHIND:
        if texts[token + 1] == ":" and not choices:
            break
        choices += (texts[token + 1] == "?") - (texts[token + 1] == ":")
        token = min(max(token + 1, partners[token + 1]), highest)
    return token


def _increment(statements: Statements, token: int, lowest: int, highest: int) -> tuple[int, int]:
    texts, partners = statements.tokens.texts, statements.tokens.partners
    before = texts[token - 1] if token > lowest else ""
    if is_word(before) or before in (")", "]"):
        first = token
        while first > lowest and (is_word(texts[first - 1]) or texts[first - 1] in (")", "]")):
            first -= 1
            if texts[first] in (")", "]"):
                first = max(partners[first], lowest)
            elif first > lowest and texts[first - 1] in (".", "->"):
                first -= 1
            else:
                break
        return first, token
    last = token + 1
    while last < highest and texts[last] in _UNARY:
        last += 1
    last = min(max(last, partners[last] if texts[last] == "(" else last), highest)
    while last < highest and texts[last + 1] in ("(", "[", ".", "->"):
        behind = last + 1
        last = min(partners[behind] if partners[behind] > behind else behind + 1, highest)
    return token, last

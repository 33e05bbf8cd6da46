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


_PRECEDENCE: Final = {
    **dict.fromkeys(("*", "/", "%"), 10),
    **dict.fromkeys(("+", "-"), 9),
    **dict.fromkeys(("<<", ">>"), 8),
    **dict.fromkeys(("<", ">", "<=", ">="), 7),
    **dict.fromkeys(("==", "!="), 6),
    **{"&": 5, "^": 4, "|": 3, "&&": 2, "||": 1},
    **dict.fromkeys(("?", ":"), 0),
    **dict.fromkeys(_ASSIGNMENTS, -1),
    ",": -2,
}
_AMBIGUOUS: Final = frozenset(("*", "+", "-", "&"))  # with one operand or with two
_PREFIXES: Final = frozenset(("return", "case", "else", "do", "goto", "sizeof"))


def operation(statements: Statements, line: int, column: int) -> Written | None:
    """The operation whose operator is at a place, with its operands."""
    tokens = statements.tokens
    token = tokens.at(line, column)
    number = None if token is None else statements.part(token)
    if token is None or number is None:
        return None
    lowest, highest = statements.parts[number].first, statements.parts[number].last
    written = tokens.texts[token]
    if written in _INCREMENTS or written in _ASSIGNMENTS:
        return effect(statements, line, column)
    if written in _UNARY and not _has_left(statements, token, lowest):
        return _from(statements, token, _behind_operand(statements, token, highest))
    if written not in _PRECEDENCE or _PRECEDENCE[written] <= 0:
        return None
    first = _left(statements, token, lowest, _PRECEDENCE[written])
    return _from(statements, first, _right(statements, token, highest, _PRECEDENCE[written]))


def left_operand(statements: Statements, line: int, column: int) -> Written | None:
    """What stands on the left of the `&&` or `||` at a place."""
    tokens = statements.tokens
    token = tokens.at(line, column)
    number = None if token is None else statements.part(token)
    if token is None or number is None or tokens.texts[token] not in ("&&", "||"):
        return None
    strength = _PRECEDENCE[tokens.texts[token]] + 1  # of several, only the last
    first = _left(statements, token, statements.parts[number].first, strength)
    return None if first == token else _from(statements, first, token - 1)


def tested(statements: Statements, line: int, column: int) -> Written | None:
    """The condition of the `?:` that starts at a place, or whose operator `&&` or `||` is there."""
    first = statements.tokens.at(line, column)
    number = None if first is None else statements.part(first)
    if first is not None and number is not None and statements.tokens.texts[first] in ("&&", "||"):
        first = _left(statements, first, statements.parts[number].first, 1)
    mark = statements.question_mark(line, column)
    last = None if mark is None else statements.tokens.at(*mark)
    return None if first is None or last is None or last <= first else _from(statements, first, last - 1)


def place(statements: Statements, line: int, column: int, subscripts: int) -> Written | None:
    """What is read where an access stands: `p->next`, `*p`, `a[i]`. Debug information has the place of the
    member, of the `*`, and of the first word of an element; `subscripts` counts those that belong to it."""
    tokens, texts, partners = statements.tokens, statements.tokens.texts, statements.tokens.partners
    token = tokens.at(line, column)
    number = None if token is None else statements.part(token)
    if token is None or number is None:
        return None
    lowest, highest = statements.parts[number].first, statements.parts[number].last
    if texts[token] in _INCREMENTS:
        first, last = _increment(statements, token, lowest, highest)
        return _from(statements, first + 1, last) if first == token else _from(statements, first, last - 1)
    if texts[token] in _ASSIGNMENTS:
        first = _start(statements, token, lowest)
        return None if first == token else _from(statements, first, token - 1)
    if texts[token] == "*":
        return _from(statements, token, _behind_operand(statements, token, highest))
    if token > lowest and texts[token - 1] in (".", "->"):
        return _from(statements, _chain_start(statements, token, lowest), token)
    if not is_word(texts[token]) and texts[token] != "(":
        return None
    last = end = max(token, partners[token])
    while subscripts and end < highest and texts[end + 1] in ("[", ".", "->"):
        if texts[end + 1] == "[":
            end = max(end + 1, partners[end + 1])
            last, subscripts = end, subscripts - 1
        else:
            end += 2
    return _from(statements, token, min(last, highest))


def parameter(statements: Statements, line: int, column: int) -> Written | None:
    """The declaration of the parameter whose name is at a place."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    token = statements.tokens.at(line, column)
    number = None if token is None else statements.part(token)
    if token is None or number is None or statements.parts[number].kind is not Kind.FUNCTION:
        return None
    first = last = token
    while first > statements.parts[number].first and texts[first - 1] not in ("(", ",", ";"):
        before = first - 1
        first = partners[before] if 0 <= partners[before] < before else before
    while last < statements.parts[number].last and texts[last + 1] not in (")", ",", ";"):
        last = max(last + 1, partners[last + 1])
    return _from(statements, first, last)


def _from(statements: Statements, first: int, last: int) -> Written:
    span = statements.tokens.span(first, last, statements.file)
    return Written(Kind.EXPRESSION, statements.text(first, last), span, span)


def _has_left(statements: Statements, token: int, lowest: int) -> bool:
    """Whether an operand stands in front of an operator."""
    before = statements.tokens.texts[token - 1] if token > lowest else ""
    if before in _PREFIXES:
        return False
    return before in (")", "]", "++", "--") or before[:1].isalnum() or before[:1] in ("_", "'", '"', ".")


def _left(statements: Statements, token: int, lowest: int, precedence: int) -> int:
    """The first token of the operand, or the operands of the same strength, on the left of an operator."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    first = token
    while first > lowest:
        before = first - 1
        text = texts[before]
        if text in ("(", "[", "{", ";") or text in _PREFIXES - {"sizeof"}:
            break
        if _PRECEDENCE.get(text, 99) < precedence and not (
            text in _AMBIGUOUS and not _has_left(statements, before, lowest)
        ):
            break
        first = max(partners[before], lowest) if 0 <= partners[before] < before else before
    return first


def _right(statements: Statements, token: int, highest: int, precedence: int) -> int:
    """The last token of the operand on the right of an operator."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    last = token
    while last < highest:
        text = texts[last + 1]
        if text in (")", "]", "}", ";"):
            break
        binary = last > token and (text not in _AMBIGUOUS or _has_left(statements, last + 1, token + 1))
        if binary and _PRECEDENCE.get(text, 99) <= precedence:
            break
        last = max(last + 1, partners[last + 1])
    return min(last, highest)


def _behind_operand(statements: Statements, token: int, highest: int) -> int:
    """The last token of the operand of a prefix operator."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    last = token + 1
    while last < highest and texts[last] in _UNARY:
        last += 1
    last = min(max(last, partners[last] if texts[last] == "(" else last), highest)
    while last < highest and texts[last + 1] in ("(", "[", ".", "->", "++", "--"):
        behind = last + 1
        if texts[behind] in ("++", "--"):
            last = behind
        else:
            last = min(partners[behind] if partners[behind] > behind else behind + 1, highest)
    return last


def _chain_start(statements: Statements, token: int, lowest: int) -> int:
    """The first token of `a[i].b->c`, of which a token is the last name."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    first = token
    while first - 1 > lowest and texts[first - 1] in (".", "->"):
        first -= 2
        while texts[first] in (")", "]") and 0 <= partners[first] < first:
            first = partners[first]
            if first > lowest and (is_word(texts[first - 1]) or texts[first - 1] in (")", "]")):
                first -= 1
            else:
                break
    return max(first, lowest)

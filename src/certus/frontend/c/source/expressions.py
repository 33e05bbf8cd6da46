"""Find the parts of expressions that take a step of their own: operations, calls, and places that are read.

Debug information names the token of an operator, or the first token of a call or a place. Each function here
takes the number of such a token and returns the range of tokens of the part, both ends included; None if
there is no such part.
"""

from __future__ import annotations

from typing import Final

from certus.frontend.c.source.statements import Kind, Statements
from certus.frontend.c.source.tokens import is_word

Range = tuple[int, int]

ASSIGNMENTS: Final = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])
_INCREMENTS: Final = ("++", "--")
_UNARY: Final = frozenset(["*", "&", "+", "-", "!", "~", "++", "--"])
_AMBIGUOUS: Final = frozenset("*+-&")  # with one operand or with two
_PREFIXES: Final = frozenset(["return", "case", "else", "do", "goto", "sizeof"])
_LEVELS: Final = ("* / %", "+ -", "<< >>", "< > <= >=", "== !=", "&", "^", "|", "&&", "||", "? :")
_PRECEDENCE: Final = {
    **{operator: 10 - n for n, level in enumerate(_LEVELS) for operator in level.split()},
    **dict.fromkeys(ASSIGNMENTS, -1),
    ",": -2,
}
_LVALUE: Final = 3  # the precedence of `|`: a target of an assignment contains no weaker operator


def effect(statements: Statements, token: int) -> Range | None:
    """Return the assignment or increment with this operator. The `=` of a declaration is none: it belongs to
    a statement."""
    lowest, highest = statements.bounds(token)
    text = statements.tokens.texts[token]
    if text in _INCREMENTS:
        postfix = _postfix_start(statements, token, lowest)
        return (postfix, token) if postfix < token else (token, _operand_end(statements, token, highest))
    if text not in ASSIGNMENTS or statements.declarator(token) is not None:
        return None
    first = _left(statements, token, lowest, _LVALUE)
    return first, _right(statements, token, highest, _PRECEDENCE[","])


def operation(statements: Statements, token: int) -> Range | None:
    """Return the operation with this operator, with its operands."""
    lowest, highest = statements.bounds(token)
    text = statements.tokens.texts[token]
    if text in _INCREMENTS or text in ASSIGNMENTS:
        return effect(statements, token)
    if text in _UNARY and not _has_left(statements, token, lowest):
        return token, _operand_end(statements, token, highest)
    precedence = _PRECEDENCE.get(text, 0)
    if precedence <= 0:
        return None
    first = _left(statements, token, lowest, precedence)
    return first, _right(statements, token, highest, precedence)


def left_operand(statements: Statements, token: int) -> Range | None:
    """Return the left operand of this `&&` or `||`."""
    text = statements.tokens.texts[token]
    if text not in ("&&", "||"):
        return None
    # of several operands of one operator, only the last
    first = _left(statements, token, statements.bounds(token)[0], _PRECEDENCE[text] + 1)
    return None if first == token else (first, token - 1)


def tested(statements: Statements, token: int) -> Range | None:
    """Return the condition of the `?:` that starts with this token, or that contains this `&&` or `||`."""
    first = token
    if statements.tokens.texts[token] in ("&&", "||"):
        first = _left(statements, token, statements.bounds(token)[0], _PRECEDENCE["||"])
    mark = question_mark(statements, token)
    return None if mark is None or mark <= first else (first, mark - 1)


def question_mark(statements: Statements, token: int) -> int | None:
    """Return the `?` at this token, or after the operand that starts there."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    while token < len(texts) and texts[token] not in (";", "{", "}", ":", ","):
        if texts[token] == "?":
            return token
        token = max(token, partners[token]) + 1
    return None


def place(statements: Statements, token: int, subscripts: int) -> Range | None:
    """Return the place that is read by an access: `p->next`, `*p`, `a[i]`. Debug information names the token
    of the member, the `*`, or the first word of an element; `subscripts` counts the subscripts that belong to
    it."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    lowest, highest = statements.bounds(token)
    if texts[token] in _INCREMENTS or texts[token] in ASSIGNMENTS:
        whole = effect(statements, token)
        if whole is None:
            return None
        return (whole[0], token - 1) if whole[0] < token else (token + 1, whole[1])
    if texts[token] == "*":
        return token, _operand_end(statements, token, highest)
    if token > lowest and texts[token - 1] in (".", "->"):
        return _postfix_start(statements, token, lowest), token
    if not is_word(texts[token]) and texts[token] != "(":
        return None
    last = end = max(token, partners[token])
    while subscripts and end < highest and texts[end + 1] in ("[", ".", "->"):
        if texts[end + 1] == "[":
            end = max(end + 1, partners[end + 1])
            last, subscripts = end, subscripts - 1
        else:
            end += 2
    return token, min(last, highest)


def call(statements: Statements, token: int) -> Range | None:
    """Return the call that starts with this token: `f(x)`, `p->f(x)`."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    last, at = -1, max(token, partners[token])
    while at + 1 < len(texts):
        following = texts[at + 1]
        if following in ("(", "[") and partners[at + 1] > at:
            at = partners[at + 1]
            last = at if following == "(" else last
        elif following in (".", "->"):
            at += 2
        else:
            break
    return None if last < 0 else (token, last)


def argument(statements: Statements, token: int) -> Range | None:
    """Return the tokens in the parentheses of the call, or of the use of a macro, that starts here."""
    if statements.tokens.texts[token + 1 : token + 2] != ["("]:
        return None
    close = statements.tokens.partners[token + 1]
    return (token + 2, close - 1) if close > token + 2 else None


def parameter(statements: Statements, token: int) -> Range | None:
    """Return the declaration of the parameter with this name."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    part = statements.part(token)
    if part is None or part.kind is not Kind.FUNCTION:
        return None
    first = last = token
    while first > part.first and texts[first - 1] not in ("(", ",", ";"):
        first = partners[first - 1] if 0 <= partners[first - 1] < first else first - 1
    while last < part.last and texts[last + 1] not in (")", ",", ";"):
        last = max(last + 1, partners[last + 1])
    return first, last


# ------------------------------------------------------------------------------------ operands


def _has_left(statements: Statements, token: int, lowest: int) -> bool:
    """Return whether an operand stands in front of an operator."""
    before = statements.tokens.texts[token - 1] if token > lowest else ""
    if before in _PREFIXES:
        return False
    return before in (")", "]", "++", "--") or before[:1].isalnum() or before[:1] in ("_", "'", '"', ".")


def _left(statements: Statements, token: int, lowest: int, precedence: int) -> int:
    """Return the first token of the left operand of an operator, including operators that are at least as
    strong."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    first = token
    while first > lowest:
        before = first - 1
        text = texts[before]
        if text in ("(", "[", "{", ";") or (text in _PREFIXES and text != "sizeof"):
            break
        weaker = _PRECEDENCE.get(text, 99) < precedence
        if weaker and (text not in _AMBIGUOUS or _has_left(statements, before, lowest)):
            break
        first = max(partners[before], lowest) if 0 <= partners[before] < before else before
    return first


def _right(statements: Statements, token: int, highest: int, precedence: int) -> int:
    """Return the last token of the right operand of an operator. A `:` ends it, unless it belongs to a `?`
    inside."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    last, choices = token, 0
    while last < highest:
        text = texts[last + 1]
        if text in (")", "]", "}", ";") or (text == ":" and not choices):
            break
        binary = last > token and (text not in _AMBIGUOUS or _has_left(statements, last + 1, token + 1))
        if binary and _PRECEDENCE.get(text, 99) <= precedence:
            break
        choices += (text == "?") - (text == ":")
        last = max(last + 1, partners[last + 1])
    return min(last, highest)


def _operand_end(statements: Statements, token: int, highest: int) -> int:
    """Return the last token of the operand of a prefix operator."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    last = token + 1
    while last < highest and texts[last] in _UNARY:
        last += 1
    last = min(max(last, partners[last] if texts[last] == "(" else last), highest)
    while last < highest and texts[last + 1] in ("(", "[", ".", "->", "++", "--"):
        last += 1
        if texts[last] not in _INCREMENTS:
            last = min(partners[last] if partners[last] > last else last + 1, highest)
    return last


def _postfix_start(statements: Statements, token: int, lowest: int) -> int:
    """Return the first token of the `a[i].b->c` in front of a token; the token itself if there is none."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    first = token
    if token > lowest and texts[token - 1] in (".", "->"):
        first -= 1  # the token is the last name
    while first > lowest and (is_word(texts[first - 1]) or texts[first - 1] in (")", "]")):
        first -= 1
        if texts[first] in (")", "]"):
            first = max(partners[first], lowest)
        elif first > lowest and texts[first - 1] in (".", "->"):
            first -= 1
        else:
            break
    return first

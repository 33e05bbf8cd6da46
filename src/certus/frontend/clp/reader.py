"""Read constraint logic programs as S-expressions with positions.

Operators are read by precedence, with a stack instead of recursion, so the depth of a term is not limited.
A variable is a word that begins with a capital or `_`, unless a parenthesis follows: `Eloop(X)` is an atom.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NoReturn

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.frontend.chc.sexpr import Group, Node, Word
from certus.frontend.clp.syntax import BINARY, COMPARISON, IMPLIES, PREFIX
from certus.frontend.source import Source

_TOKEN: Final = re.compile(
    r"""\s+ | %[^\n]* | /\*.*?\*/
    | (?P<number>[0-9]+(?:\.[0-9]+)?) | '(?P<quoted>[^'\n]*)' | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign>:-|\?-|=>|=<|<=|>=|\\=|\\\+|[-+*/=<>:;,()])
    | (?P<stop>\.(?=\s|%|\Z)) | (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)
_PATIENCE: Final = 50_000  # tokens between two checks of the budget
_SINGLE: Final = (IMPLIES, COMPARISON)  # operators that do not chain
_RULE: Final = "Write `head :- body.`, `head.`, `false :- body.` or `:- relation p(int).`"


@dataclass(frozen=True, slots=True)
class Token:
    """A token: a number, a word, a sign, or the end of a rule (`stop`)."""

    kind: str
    text: str
    at: int
    end: int


@dataclass(frozen=True, slots=True)
class Rule:
    """`head :- body`. A directive has no head (`:- d.`), and a fact no body."""

    head: Node | None
    body: Node | None
    at: int
    end: int


def read_rules(source: Source, budget: Budget) -> Iterator[Rule]:
    """Yield the rules and directives of a text; raise `InputError` where it is malformed."""
    tokens: list[Token] = []
    for token in _tokens(source, budget):
        tokens.append(token)
        if token.kind == "stop":
            yield _rule(source, tokens)
            tokens = []
    if tokens:
        last = tokens[-1]
        refuse(source, last.at, last.end, "This rule does not end.", "Add `.`; the file may be truncated.")


def is_variable(node: Node) -> bool:
    """Tell whether a node is a variable."""
    return isinstance(node, Word) and not node.quoted and (node.text[0].isupper() or node.text[0] == "_")


def refuse(source: Source, at: int, end: int, message: str, hint: str | None = None) -> NoReturn:
    """Raise `InputError` for a malformed text."""
    raise InputError([Diagnostic("bad-clp", message, span=source.span(at, end), hint=hint)])


def _tokens(source: Source, budget: Budget) -> Iterator[Token]:
    for number, match in enumerate(_TOKEN.finditer(source.text)):
        if number % _PATIENCE == 0:
            budget.check()
        kind = match.lastgroup
        if kind is None:
            continue
        start, end = match.span()
        if kind == "wrong":
            message = f"`{match[0]}` is no part of a rule."
            hint = "Names with other characters are written in quotes: `'E.main'`."
            refuse(source, start, end, message, hint)
        yield Token(kind, match["quoted"] if kind == "quoted" else match[0], start, end)


def _rule(source: Source, tokens: list[Token]) -> Rule:
    *inner, stop = tokens
    arrows = [n for n, token in enumerate(inner) if token.text in (":-", "?-") and token.kind == "sign"]
    at = tokens[0].at
    if len(arrows) > 1:
        token = inner[arrows[1]]
        refuse(source, token.at, token.end, f"This rule has a second `{token.text}`.", _RULE)
    split = arrows[0] if arrows else len(inner)
    query = bool(arrows) and inner[split].text == "?-"
    if query and split:
        refuse(source, inner[split].at, inner[split].end, "A query has no head.", "Write `?- body.`")
    false = Word("false", at, at)
    if arrows and not split and not query:
        return Rule(None, _directive(source, inner[1:], stop), at, stop.end)
    head = _Expression(source, inner[:split], stop).read() if split or not arrows else None
    body = _Expression(source, inner[split + 1 :], stop).read() if arrows else None
    return Rule(false if query else head, body, at, stop.end)


def _directive(source: Source, tokens: list[Token], stop: Token) -> Group:
    """Read `relation p(int)` as a call of `relation`."""
    first = tokens[0] if tokens else stop
    call = Group(first.at)
    call.end = stop.at
    call.items.append(Word(first.text, first.at, first.end))
    if len(tokens) > 1:
        call.items.append(_Expression(source, tokens[1:], stop).read())
    return call


@dataclass(slots=True)
class _Frame:
    """An open parenthesis: a call if it has a `call`. Operators wait until their operands are read."""

    at: int
    call: Group | None = None
    operands: list[Node] = field(default_factory=list)
    operators: list[tuple[int, str, int, Token]] = field(default_factory=list)  # with the number of operands


class _Expression:
    """The reader of one term or formula."""

    def __init__(self, source: Source, tokens: list[Token], stop: Token) -> None:
        self._source: Final = source
        self._tokens: Final = [*tokens, stop]
        self._frames: Final = [_Frame(tokens[0].at if tokens else stop.at)]
        self._operand_expected = True

    def read(self) -> Node:
        for number, token in enumerate(self._tokens):
            if self._operand_expected:
                self._operand(token, self._tokens[min(number + 1, len(self._tokens) - 1)])
            else:
                self._after(token)
        return self._frames[0].operands[0]

    def _operand(self, token: Token, following: Token) -> None:
        frame = self._frames[-1]
        if token.kind == "sign" and token.text == "(":
            if frame.call is None or frame.at != token.at:
                self._frames.append(_Frame(token.at))
        elif token.kind == "sign" and token.text in PREFIX:
            precedence, name = PREFIX[token.text]
            frame.operators.append((precedence, name, 1, token))
        elif token.kind in ("number", "word", "quoted"):
            word = Word(token.text, token.at, token.end, quoted=token.kind == "quoted")
            if token.kind != "number" and following.text == "(" and following.at == token.end:
                call = Group(token.at)
                call.items.append(word)
                self._frames.append(_Frame(following.at, call))
            else:
                frame.operands.append(word)
                self._operand_expected = False
        elif (
            token.text == ")"
            and frame.call is not None
            and len(frame.call.items) == 1
            and not frame.operators
        ):
            frame.call.end = token.end
            self._close(frame.call)
        else:
            what = "the end of the rule" if token.kind == "stop" else f"`{token.text}`"
            message = f"A term or an atom is expected here, not {what}."
            refuse(self._source, token.at, token.end, message)

    def _after(self, token: Token) -> None:
        """Read an operator, a comma between arguments, a closing parenthesis, or the end."""
        frame = self._frames[-1]
        if frame.call is not None and token.text in (",", ")"):
            self._reduce(frame, 0)
            frame.call.items.append(frame.operands.pop())
            if token.text == ")":
                frame.call.end = token.end
                self._close(frame.call)
            else:
                self._operand_expected = True
        elif token.text == ")" and len(self._frames) > 1:
            self._reduce(frame, 0)
            self._close(frame.operands[0])
        elif token.kind == "stop" and len(self._frames) == 1:
            self._reduce(frame, 0)
        elif token.text in BINARY and token.kind != "quoted":
            precedence, name = BINARY[token.text]
            self._reduce(frame, precedence)
            if precedence in _SINGLE and frame.operators and frame.operators[-1][0] == precedence:
                message = f"`{token.text}` cannot follow another operator of its kind."
                refuse(self._source, token.at, token.end, message, "Write `X < Y, Y < Z`, or parentheses.")
            frame.operators.append((precedence, name, 2, token))
            self._operand_expected = True
        elif token.kind == "stop":
            at = frame.at
            refuse(self._source, at, at + 1, "This parenthesis is never closed.", "Add `)`.")
        else:
            message = f"An operator, `,` or the end of the rule is expected here, not `{token.text}`."
            refuse(self._source, token.at, token.end, message)

    def _close(self, node: Node) -> None:
        self._frames.pop()
        self._frames[-1].operands.append(node)
        self._operand_expected = False

    def _reduce(self, frame: _Frame, precedence: int) -> None:
        """Apply the waiting operators that bind at least as strongly."""
        while frame.operators and frame.operators[-1][0] >= precedence:
            own, name, count, token = frame.operators[-1]
            if own == precedence and precedence in _SINGLE:
                return  # the caller refuses a chain
            frame.operators.pop()
            operands = frame.operands[-count:]
            del frame.operands[-count:]
            first = operands[0]
            if name in ("and", "or") and isinstance(first, Group) and first.head == name:
                first.items.append(operands[1])
                first.end = operands[1].end
                frame.operands.append(first)
                continue
            group = Group(min(token.at, first.at))
            group.end = operands[-1].end
            group.items.extend([Word(name, token.at, token.end), *operands])
            frame.operands.append(group)

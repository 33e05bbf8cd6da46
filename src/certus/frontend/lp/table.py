"""Run the LALR automaton of the parse table that `tabulate` generates from grammar.lark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from certus.frontend.source import Source

Value = Any  # the value of a symbol of the grammar: its action determines the type


class Token(NamedTuple):
    """A token with its offsets in the source."""

    kind: str  # a terminal of the grammar, `$END`, or `BAD` for text that no terminal matches
    text: str
    start: int
    end: int


class UnexpectedToken(Exception):
    """`token` cannot follow the text before it; any of `expected` could."""

    def __init__(self, token: Token, expected: tuple[str, ...]) -> None:
        super().__init__(token.text)
        self.token = token
        self.expected = expected


class Table(NamedTuple):
    """The parse table, as `tabulate` describes it."""

    start: Mapping[str, int]
    rules: Sequence[tuple[str, int, str]]  # left-hand side, length of the right-hand side, action
    states: Sequence[Mapping[str, int]]
    words: Mapping[str, str]  # keywords and their terminals
    patterns: Mapping[str, str]  # the other terminals, in the order of matching
    ignored: str  # the pattern of text between tokens
    terminals: frozenset[str]


@cache
def table() -> Table:
    """Return the table of the small language."""
    data = json.loads((files("certus.frontend.lp") / "table.json").read_text("utf-8"))
    kinds = [(name, re.escape(text) if kind == "str" else text) for name, kind, text in data["terminals"]]
    words = {text: name for name, kind, text in data["terminals"] if kind == "str" and text.isalpha()}
    silent = (*words.values(), *data["ignored"])
    patterns = [(name, text) for name, text in kinds if name not in silent]
    patterns.sort(key=lambda kind: kind[0] in ("NOT", "ASSIGN"))  # after the operators that start with them
    return Table(
        data["start"],
        [tuple(rule) for rule in data["rules"]],
        data["states"],
        words,
        dict(patterns),
        "|".join(text for name, text in kinds if name in data["ignored"]),
        frozenset(["$END", *(name for name, _ in kinds)]),
    )


@cache
def _scanner(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for ignored text and then one token, or the end. `names` are matched as NAME."""
    patterns = {**table().patterns, "BAD": r"[\s\S]"}
    if names:
        special = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        patterns = {"NAME": f"(?:{special})(?![A-Za-z_0-9$.@])|{patterns['NAME']}", **_without(patterns)}
    alternatives = "|".join(f"(?P<{name}>{text})" for name, text in patterns.items())
    return re.compile(f"(?:{table().ignored})*+(?:{alternatives}|\\Z)")


def _without(patterns: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in patterns.items() if name != "NAME"}


def tokens(source: Source, names: Iterable[str] = ()) -> Iterator[Token]:
    """Yield the tokens of a text, `$END` last; `names` are further texts that are names."""
    words, text, new = table().words, source.text, tuple.__new__
    for match in _scanner(tuple(names)).finditer(text):
        kind = match.lastgroup
        if kind is None:
            break
        start, end = match.span(kind)
        value = text[start:end]
        if kind == "NAME":
            kind = words.get(value, "NAME")
        yield new(Token, (kind, value, start, end))
    yield Token("$END", "", len(text), len(text))


def _fits(states: list[int], kind: str) -> bool:
    """Tell whether a token of this kind can follow: its reductions end in a shift."""
    grammar, states = table(), list(states)
    while (step := grammar.states[states[-1]].get(kind)) is not None:
        if step >= 0:
            return True
        origin, size, _ = grammar.rules[-step - 1]
        if size:
            del states[-size:]
        states.append(grammar.states[states[-1]][origin])
    return kind == "$END" and not grammar.states[states[-1]]


def run(stream: Iterator[Token], start: str, actions: Mapping[str, Callable[[list[Value]], Value]]) -> Value:
    """Parse tokens; the value of a rule is its action applied to the values of its right-hand side, and the
    value of a terminal is its token."""
    grammar = table()
    rows = grammar.states
    rules = [(origin, size, actions[action]) for origin, size, action in grammar.rules]
    states = [grammar.start[start]]
    accepting = rows[states[0]][start]
    values: list[Value] = []
    for token in stream:
        kind = token[0]
        while True:
            row = rows[states[-1]]
            step = row.get(kind)
            if step is None:
                expected = [name for name in row if name in grammar.terminals] or ["$END"]
                raise UnexpectedToken(token, tuple(e for e in expected if _fits(states, e)) or ("$END",))
            if step >= 0:
                break
            origin, size, action = rules[-step - 1]
            if size:
                value = action(values[-size:])
                del values[-size:]
                del states[-size:]
            else:
                value = action([])
            values.append(value)
            states.append(rows[states[-1]][origin])
            if states[-1] == accepting and kind == "$END":
                return value
        states.append(step)
        values.append(token)
    raise AssertionError("the tokens do not end in $END")

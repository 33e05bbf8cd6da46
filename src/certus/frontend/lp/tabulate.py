"""Convert grammar.lark to the parse table table.json: `python -m certus.frontend.lp.tabulate`.

Only developers run this. Importing lark and building the table takes 0.12 s; reading the finished table takes
2 ms and does not need lark. A test compares the two files.

States are numbered in breadth-first order over sorted symbols, so the file depends on the grammar only. In
the row of a state, a number n >= 0 means "shift and go to n", n < 0 "reduce by rule -n - 1".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final, TypedDict

from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

STARTS: Final = ("program", "expression")
Reference = TypedDict("Reference", {"@": int})  # the parts of lark's own saved form that are read here
Pattern = TypedDict("Pattern", {"__type__": str, "value": str})
Action = tuple[bool, Reference | int]  # whether it reduces, and the rule or the next state


class Terminal(TypedDict):
    """A terminal of the grammar."""

    name: str
    pattern: Pattern


class Nonterminal(TypedDict):
    """The left-hand side of a rule."""

    name: str


class GrammarRule(TypedDict):
    """A rule of the grammar."""

    origin: Nonterminal
    expansion: list[object]
    alias: str | None


def tabulate(grammar: str) -> str:
    """Return the table of a grammar as JSON text."""
    lark = Lark(grammar, parser="lalr", lexer="basic", start=list(STARTS), keep_all_tokens=True)
    data, memo = lark.memo_serialize([TerminalDef, Rule])
    table = data["parser"]["parser"]
    terminals = [_terminal(t) for t in data["parser"]["lexer_conf"]["terminals"] for t in [memo[t["@"]]]]
    rows = {
        state: {table["tokens"][token]: action for token, action in row.items()}
        for state, row in table["states"].items()
    }
    order = _breadth_first(rows, [table["start_states"][start] for start in STARTS])
    rules: dict[int, int] = {}
    states = [_row(rows[state], order, rules) for state in order]
    result = {
        "start": {start: order[table["start_states"][start]] for start in STARTS},
        "terminals": sorted(terminals),
        "ignored": sorted(data["parser"]["lexer_conf"]["ignore"]),
        "rules": [_rule(memo[number]) for number in rules],
        "states": states,
    }
    return json.dumps(result, sort_keys=True, indent=0) + "\n"


def _terminal(definition: Terminal) -> tuple[str, str, str]:
    """Return the name, kind (`str` or `re`) and text of a terminal."""
    pattern = definition["pattern"]
    kind = "str" if pattern["__type__"] == "PatternStr" else "re"
    return definition["name"], kind, pattern["value"]


def _breadth_first(rows: Mapping[int, Mapping[str, Action]], starts: list[int]) -> dict[int, int]:
    """Return new numbers of the states, in the order of their discovery."""
    order = {state: number for number, state in enumerate(starts)}
    queue = list(starts)
    for state in queue:
        for symbol in sorted(rows[state]):
            _, argument = rows[state][symbol]
            if isinstance(argument, int) and argument not in order:
                order[argument] = len(order)
                queue.append(argument)
    return order


def _row(row: Mapping[str, Action], order: Mapping[int, int], rules: dict[int, int]) -> dict[str, int]:
    actions = {}
    for symbol in sorted(row):
        _, argument = row[symbol]
        if isinstance(argument, int):
            actions[symbol] = order[argument]
        else:
            actions[symbol] = -rules.setdefault(argument["@"], len(rules)) - 1
    return actions


def _rule(rule: GrammarRule) -> tuple[str, int, str]:
    """Return the left-hand side, the length of the right-hand side, and the name of the action."""
    origin = rule["origin"]["name"]
    return origin, len(rule["expansion"]), rule["alias"] or origin


if __name__ == "__main__":
    here = files("certus.frontend.lp")
    Path(str(here / "table.json")).write_text(
        tabulate((here / "grammar.lark").read_text("utf-8")), encoding="utf-8"
    )

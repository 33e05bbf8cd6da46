"""Print Horn clauses as a constraint logic program, one rule for each clause.

The rules come from the SMT-LIB text of the clauses, so that both formats have the same terms. Variables get
names with a capital. A subterm that a clause uses twice is the value of a new variable: `T1 = X + Y`.
Relations are declared, so reading the text again needs no inference.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Final, NoReturn

from certus.codec.smtlib_horn import horn_script
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Unsupported
from certus.core.horn import HornSystem
from certus.frontend.chc.operators import OPERATORS
from certus.frontend.chc.sexpr import Group, Node, Word, read_commands
from certus.frontend.clp.syntax import AND, ATOM, INDEXED, INFIX, MINUS, NOT, OR, SUM
from certus.frontend.source import Source

_PLAIN: Final = re.compile(r"[a-z][A-Za-z0-9_]*")
_CALLED: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_WORDS: Final = frozenset({*OPERATORS, *INDEXED, "true", "false", "const", "bv", "relation", "function"})
_SORTS: Final = {"Int": "int", "Bool": "bool", "Real": "real"}
_WIDTH: Final = 100  # characters; a longer rule has one literal a line


def clp_text(system: HornSystem, *, comment: str = "") -> str:
    """Return the clauses as a constraint logic program. Raises `Unsupported` for terms without a syntax."""
    lines = [f"% {line}".rstrip() for line in comment.splitlines()]
    declarations: list[str] = []
    rules: list[str] = []
    relations: set[str] = set()
    for command in read_commands(Source(horn_script(system), system.file), Budget()):
        if command.head == "declare-fun":
            declarations.append(_declaration(command))
            relations.update(item.text for item in command.items[1:2] if isinstance(item, Word))
        elif command.head == "assert":
            rules.append(_Rule(command.items[1], relations).text())
        elif command.head not in ("set-logic", "check-sat"):
            _refuse(f"The clauses need the SMT-LIB command `{command.head}`, which rules do not have.")
    return "\n".join([*lines, *declarations, "", *rules, ""])


def _refuse(message: str) -> NoReturn:
    raise Unsupported(Diagnostic("unsupported-term", message, hint="Write SMT-LIB: --format smtlib."))


def _declaration(command: Group) -> str:
    _, name, parameters, result = command.items
    assert isinstance(name, Word)
    assert isinstance(parameters, Group)
    sorts = ", ".join(map(_sort, parameters.items))
    declared = f"{_name(name, called=bool(sorts))}({sorts})" if sorts else _name(name, called=False)
    if isinstance(result, Word) and result.text == "Bool":
        return f":- relation {declared}."
    return f":- function {declared} = {_sort(result)}."


def _sort(node: Node) -> str:
    if isinstance(node, Word):
        return _SORTS[node.text]
    if node.head == "Array":
        return f"array({_sort(node.items[1])}, {_sort(node.items[2])})"
    width = node.items[2]
    assert isinstance(width, Word)
    return f"bv({width.text})"


def _name(word: Word, *, called: bool) -> str:
    plain = (_CALLED if called else _PLAIN).fullmatch(word.text) and word.text not in _WORDS
    return word.text if plain else f"'{word.text}'"


class _Rule:
    """One assertion `(forall ((x S) ...) (=> body head))`, with or without `forall`."""

    def __init__(self, assertion: Node, relations: Container[str]) -> None:
        self._relations: Final = relations
        self._atoms: Final[dict[str, Node]] = {}  # names of atoms that occur twice
        self._names: Final[dict[str, str]] = {}
        self._taken: Final[set[str]] = set()
        self._sorts: Final[dict[str, Node]] = {}
        self._implication = assertion
        if isinstance(assertion, Group) and assertion.head == "forall":
            declared = assertion.items[1]
            assert isinstance(declared, Group)
            for each in declared.items:
                assert isinstance(each, Group)
                name, sort = each.items
                assert isinstance(name, Word)
                self._sorts[self._variable(name.text)] = sort
            self._implication = assertion.items[2]

    def text(self) -> str:
        literals: list[str] = []
        rule = self._implication
        while isinstance(rule, Group) and rule.head == "let":
            bindings = rule.items[1]
            assert isinstance(bindings, Group)
            for binding in bindings.items:
                assert isinstance(binding, Group)
                name, value = binding.items
                assert isinstance(name, Word)
                if isinstance(value, Group) and value.head in self._relations:
                    self._atoms[name.text] = value
                else:
                    text = self._term(value, SUM)
                    literals.append(f"{self._variable(name.text)} = {text}")
            rule = rule.items[2]
        assert isinstance(rule, Group)
        _, premise, conclusion = rule.items
        body = premise.items[1:] if isinstance(premise, Group) and premise.head == "and" else [premise]
        *body, conclusion = [
            self._atoms.get(x.text, x) if isinstance(x, Word) else x for x in (*body, conclusion)
        ]
        literals += [self._term(each, AND + 1) for each in body]
        head = self._term(conclusion, ATOM)
        literals = [*self._annotations([*body, conclusion]), *(x for x in literals if x != "true")]
        if not literals:
            return f"{head}."
        line = f"{head} :- {', '.join(literals)}."
        return line if len(line) <= _WIDTH else f"{head} :-\n    " + ",\n    ".join(literals) + "."

    def _annotations(self, literals: Sequence[Node]) -> list[str]:
        """State the sorts of variables that are no arguments of relations, unless these are `int`."""
        placed: set[str] = set()
        for atom in literals:
            if isinstance(atom, Group) and atom.head in self._relations:
                placed.update(self._names.get(a.text, "") for a in atom.items[1:] if isinstance(a, Word))
        return [
            f"{name} : {_sort(sort)}"
            for name, sort in self._sorts.items()
            if name not in placed and _sort(sort) != "int"
        ]

    def _variable(self, name: str) -> str:
        """Return a new variable of the rule for a name of SMT-LIB."""
        text = re.sub(r"[^A-Za-z0-9_]", "_", name)
        text = f"V{text}" if not text[:1].isalpha() else text[0].upper() + text[1:]
        number, free = 1, text
        while free in self._taken:
            number += 1
            free = f"{text}_{number}"
        self._taken.add(free)
        self._names[name] = free
        return free

    # -------------------------------------------------------------------------------- terms

    def _term(self, root: Node, context: int) -> str:
        """Print a term, in parentheses if it binds weaker than its context."""
        pieces: list[str] = []
        work: list[str | tuple[Node, int]] = [(root, context)]
        while work:
            part = work.pop()
            if isinstance(part, str):
                pieces.append(part)
                continue
            node, around = part
            if isinstance(node, Word):
                pieces.append(self._word(node))
                continue
            strength, parts = self._parts(node)
            if strength < around:
                parts = ["(", *parts, ")"]
            work += reversed(parts)
        return "".join(pieces)

    def _word(self, word: Word) -> str:
        if word.text in self._names:
            return self._names[word.text]
        if word.text in ("true", "false") or word.text[:1].isdigit():
            return word.text
        return _name(word, called=False)

    def _parts(self, node: Group) -> tuple[int, list[str | tuple[Node, int]]]:
        head, arguments = node.items[0], node.items[1:]
        if isinstance(head, Group):
            return ATOM, self._indexed(head, arguments)
        name = head.text
        if name == "_":
            value, width = (item.text for item in arguments if isinstance(item, Word))
            return ATOM, [f"bv({value[2:]}, {width})"]
        if name in ("forall", "exists", "let"):
            _refuse("The clauses have a quantifier inside a constraint, which rules do not have.")
        if name == "-" and len(arguments) == 1:
            return MINUS, ["-", (arguments[0], MINUS)]
        if name == "not":
            return _negation(arguments[0])
        if name in INFIX and len(arguments) > 1:
            precedence, sign = INFIX[name]
            space = "" if sign == "," else " "
            inner = precedence if precedence in (OR, AND, SUM) or name == "*" else precedence + 1
            parts: list[str | tuple[Node, int]] = [(arguments[0], inner)]
            for argument in arguments[1:]:
                parts += [f"{space}{sign} ", (argument, precedence + 1)]
            return precedence, parts
        return ATOM, self._call(_name(head, called=True) if name not in _WORDS else name, arguments)

    def _call(self, name: str, arguments: list[Node]) -> list[str | tuple[Node, int]]:
        parts: list[str | tuple[Node, int]] = [f"{name}("]
        for number, argument in enumerate(arguments):
            parts += [", "] * bool(number) + [(argument, AND + 1)]
        return [*parts, ")"]

    def _indexed(self, head: Group, arguments: list[Node]) -> list[str | tuple[Node, int]]:
        if head.head == "as":
            return [f"const({_sort(head.items[2])}, ", (arguments[0], AND + 1), ")"]
        words = [item.text for item in head.items[1:] if isinstance(item, Word)]
        if words[0] not in INDEXED:
            _refuse(f"The operator `{words[0]}` has no syntax in rules.")
        indices = ", ".join(words[1:])
        return [f"{words[0]}({indices}, ", (arguments[0], AND + 1), ")"]


def _negation(argument: Node) -> tuple[int, list[str | tuple[Node, int]]]:
    """Print `(not (= x y))` as `X \\= Y`, and other negations with `\\+`."""
    if isinstance(argument, Group) and argument.head == "=" and len(argument.items) == 3:
        precedence, sign = INFIX["distinct"]
        left, right = argument.items[1:]
        return precedence, [(left, precedence + 1), f" {sign} ", (right, precedence + 1)]
    return NOT, ["\\+ ", (argument, NOT)]

"""Elaborate S-expressions to terms.

One pass with a stack of pending work. Each name has a stack of its values in scope, so a lookup costs the
same at any depth. Bound variables are variables while their quantifier is open, and de Bruijn indices once it
is closed; `names` keeps their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Final, NoReturn, TypeVarTuple

from certus.core import build
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Unsupported
from certus.core.terms import BOOL, INT, REAL, Expr, Function, Sort, array, machine
from certus.core.walk import QUANTIFIERS, bind, substitute
from certus.frontend.chc.operators import OPERATORS, WIDEST, IllSorted, fitting, indexed
from certus.frontend.chc.sexpr import Group, Node, Word, refuse
from certus.frontend.source import Source

_NUMERAL: Final = re.compile(r"-?[0-9]+")
_DECIMAL: Final = re.compile(r"-?[0-9]+\.[0-9]+")
_DIGITS: Final = 4000  # most digits of a literal: Python converts them quickly
_SORTS: Final = {"Bool": BOOL, "Int": INT, "Real": REAL}
_HINTS: Final = {
    "sort": "Use Bool, Int, Real, bit-vectors or arrays.",
    "term": "Use terms over Bool, Int, Real, bit-vectors and arrays.",
    "command": "Use declarations, definitions, assertions and one `(check-sat)` at the end.",
    "clause": "Write `(assert (forall ((x S) ...) (=> body head)))` with at most one relation in the head.",
}
Arguments = TypeVarTuple("Arguments")
_OTHER_SORTS: Final = ("String", "RegLan", "RoundingMode", "Float16", "Float32", "Float64", "Float128")


@dataclass(frozen=True, slots=True)
class Macro:
    """A defined function: `body` over `parameters`."""

    parameters: tuple[Expr, ...]
    body: Expr


@dataclass(slots=True)
class Vocabulary:
    """The declarations and definitions of a script so far."""

    functions: dict[str, Function] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    sorts: dict[str, Sort] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.functions or name in self.macros


class Elaborator:
    """An elaborator of the S-expressions of one script."""

    def __init__(self, source: Source, vocabulary: Vocabulary) -> None:
        self.source: Final = source
        self.vocabulary: Final = vocabulary
        self.names: Final[dict[Expr, tuple[str, ...]]] = {}  # the variable names of quantifiers
        self._scopes: Final[dict[str, list[Expr]]] = {}
        self._taken: Final[dict[str, int]] = {}  # used names, with the last number added to each
        self._work: Final[list[Callable[[], None]]] = []
        self._values: Final[list[Expr]] = []

    # -------------------------------------------------------------------------------- sorts

    def sort(self, node: Node) -> Sort:
        """Return the sort that a node denotes."""
        if isinstance(node, Word):
            return self._named_sort(node)
        words = [item.text if isinstance(item, Word) else "" for item in node.items]
        if words[:2] == ["_", "BitVec"] and len(words) == 3 and words[2].isdecimal():
            width = int(words[2][:9])
            if not 0 < width <= WIDEST:
                self.unsupported(node, "sort", f"Bit-vectors of {words[2][:20]} bits are not supported.")
            return machine(width, signed=False)
        if words[:1] == ["Array"] and len(words) == 3:
            return self._array(node)
        self.unsupported(node, "sort", f"The sort {self._text(node)} is not supported.")

    def _array(self, node: Group) -> Sort:
        """Return a possibly nested array sort, without recursion."""
        sorts: list[Sort] = []
        stack: list[tuple[Node, bool]] = [(node, False)]
        while stack:
            top, ready = stack.pop()
            nested = isinstance(top, Group) and top.head == "Array" and len(top.items) == 3
            if not nested:
                sorts.append(self.sort(top))
            elif ready:
                element, index = sorts.pop(), sorts.pop()
                sorts.append(array(index, element))
            else:
                assert isinstance(top, Group)
                stack += [(top, True), (top.items[2], False), (top.items[1], False)]
        return sorts[0]

    def _named_sort(self, word: Word) -> Sort:
        sort = _SORTS.get(word.text) or self.vocabulary.sorts.get(word.text)
        if sort is not None:
            return sort
        if word.text in _OTHER_SORTS:
            self.unsupported(word, "sort", f"The sort {word.text} is not supported.")
        self.refuse(word, f"There is no sort `{word.text}`.", _HINTS["sort"])

    # -------------------------------------------------------------------------------- terms

    def term(self, root: Node) -> Expr:
        """Return the term of a node; its free variables are those in scope."""
        self._visit(root)
        while self._work:
            self._work.pop()()
        return self._values.pop()

    def open_scope(self, declarations: Node) -> tuple[Expr, ...]:
        """Declare the variables of a list `((x S) ...)`, in scope until `close_scope`."""
        if not isinstance(declarations, Group):
            self.refuse(declarations, "A list of variables is expected here.", "Write `((x S) ...)`.")
        declared: list[Expr] = []
        for item in declarations.items:
            if not isinstance(item, Group) or len(item.items) != 2 or not isinstance(item.items[0], Word):
                self.refuse(item, "A variable and its sort are expected here.", "Write `(x S)`.")
            name, sort = item.items[0].text, self.sort(item.items[1])
            declared.append(self.variable(name, sort))
            self._scopes.setdefault(name, []).append(declared[-1])
        return tuple(declared)

    def close_scope(self, declarations: Node) -> None:
        assert isinstance(declarations, Group)
        for item in declarations.items:
            assert isinstance(item, Group)
            assert isinstance(item.items[0], Word)
            self._scopes[item.items[0].text].pop()

    def variable(self, name: str, sort: Sort) -> Expr:
        """Return a variable with a name that is unique in this assertion."""
        number, free = self._taken.get(name, 0), name
        while free in self._taken:
            number += 1
            free = f"{name}!{number}"
        self._taken[name] = number
        self._taken.setdefault(free, 0)
        return build.var(free, sort)

    def forget_variables(self) -> None:
        """Start a new assertion, where all names are free again."""
        self._taken.clear()

    def _later(self, step: Callable[[*Arguments], None], *arguments: *Arguments) -> None:
        self._work.append(partial(step, *arguments))

    def _visit(self, node: Node) -> None:
        if isinstance(node, Word):
            self._values.append(self._word(node))
            return
        if not node.items:
            self.refuse(node, "A term is expected here.")
        special = {"let": self._let, "forall": self._quantifier, "exists": self._quantifier}.get(node.head)
        if special is not None:
            special(node)
        elif node.head in ("!", "as"):
            if len(node.items) < 2:
                self.refuse(node, "A term is expected here.")
            self._later(self._visit, node.items[1])
        elif node.head == "_":
            self._values.append(self._bit_literal(node))
        elif node.head == "match":
            self.unsupported(node, "term", "Algebraic data types are not supported.")
        else:
            self._later(self._apply, node)
            for item in reversed(node.items[1:]):
                self._later(self._visit, item)

    # --------------------------------------------------------------------------- let, quantifiers

    def _let(self, node: Group) -> None:
        if len(node.items) != 3 or not isinstance(node.items[1], Group):
            self.refuse(node, "`let` takes a list of definitions and a term.")
        names: list[str] = []
        values: list[Node] = []
        for item in node.items[1].items:
            if not isinstance(item, Group) or len(item.items) != 2 or not isinstance(item.items[0], Word):
                self.refuse(item, "A name and a term are expected here.", "Write `(x term)`.")
            names.append(item.items[0].text)
            values.append(item.items[1])
        self._later(self._bind, names, node.items[2])
        for value in reversed(values):
            self._later(self._visit, value)

    def _bind(self, names: Sequence[str], body: Node) -> None:
        values = self._popped(len(names))
        for name, value in zip(names, values, strict=True):
            self._scopes.setdefault(name, []).append(value)
        self._later(self._unbind, names)
        self._later(self._visit, body)

    def _unbind(self, names: Sequence[str]) -> None:
        for name in names:
            self._scopes[name].pop()

    def _quantifier(self, node: Group) -> None:
        if len(node.items) != 3:
            self.refuse(node, f"`{node.head}` takes a list of variables and a formula.")
        variables = self.open_scope(node.items[1])
        self._later(self._close, node, variables)
        self._later(self._visit, node.items[2])

    def _close(self, node: Group, variables: tuple[Expr, ...]) -> None:
        self.close_scope(node.items[1])
        (body,) = self._popped(1)
        if body.sort is not BOOL:
            self.refuse(node.items[2], f"A formula is expected here, not a term of sort {body.sort}.")
        quantify = build.forall if node.head == "forall" else build.exists
        quantified = quantify(tuple(v.sort for v in variables), bind(body, variables))
        if quantified.kind in QUANTIFIERS:
            self.names[quantified] = tuple(v.name.partition("!")[0] for v in variables)
        self._values.append(quantified)

    # ---------------------------------------------------------------------------- applications

    def _popped(self, count: int) -> list[Expr]:
        split = len(self._values) - count
        values = self._values[split:]
        del self._values[split:]
        return values

    def _apply(self, node: Group) -> None:
        args = self._popped(len(node.items) - 1)
        head = node.items[0]
        try:
            applied = self._applied(head.text, args) if isinstance(head, Word) else self._special(head, args)
        except IllSorted as problem:
            shown = head.text if isinstance(head, Word) else self._text(head)
            self.refuse(node, f"`{shown}` cannot be applied here. {problem}")
        if applied is None:
            name = head.text if isinstance(head, Word) else self._text(head)
            self.refuse(head, f"There is no function `{name}`.", "Declare it with `declare-fun`.")
        self._values.append(applied)

    def _applied(self, name: str, args: Sequence[Expr]) -> Expr | None:
        function = self.vocabulary.functions.get(name)
        if function is not None:
            return build.apply(function, self._arguments(args, function.parameters))
        macro = self.vocabulary.macros.get(name)
        if macro is not None:
            arguments = self._arguments(args, [p.sort for p in macro.parameters])
            return substitute(macro.body, dict(zip(macro.parameters, arguments, strict=True)))
        operator = OPERATORS.get(name)
        return None if operator is None else operator(args)

    def _arguments(self, args: Sequence[Expr], sorts: Sequence[Sort]) -> list[Expr]:
        if len(args) != len(sorts):
            raise IllSorted(f"It takes {len(sorts)} arguments, not {len(args)}.")
        return [fitting(a, s) for a, s in zip(args, sorts, strict=True)]

    def _special(self, head: Group, args: Sequence[Expr]) -> Expr | None:
        """`((_ f 1) x)` or `((as const S) x)`."""
        words = [item.text if isinstance(item, Word) else "" for item in head.items]
        if words[:2] == ["as", "const"] and len(words) == 3:
            sort = self.sort(head.items[2])
            index, element = getattr(sort, "index", None), getattr(sort, "element", None)
            if index is None or element is None:
                self.refuse(head, f"{sort} is not an array sort.", "Write `(Array S S)`.")
            if len(args) != 1:
                raise IllSorted(f"It takes 1 argument, not {len(args)}.")
            return build.const_array(index, fitting(args[0], element))
        if words[:1] == ["_"] and len(words) > 2 and all(w.isdecimal() for w in words[2:]):
            return indexed(words[1], [int(w[:9]) for w in words[2:]], args)
        return None

    # --------------------------------------------------------------------------------- words

    def _word(self, word: Word) -> Expr:
        scope = self._scopes.get(word.text)
        if scope:
            return scope[-1]
        if word.text in self.vocabulary:
            try:
                applied = self._applied(word.text, ())
            except IllSorted as problem:
                self.refuse(word, f"`{word.text}` cannot be used here. {problem}")
            assert applied is not None
            return applied
        literal = None if word.quoted else self._literal(word)
        if literal is None:
            self.refuse(word, f"`{word.text[:60]}` is not declared.", "Declare it, or check its spelling.")
        return literal

    def _literal(self, word: Word) -> Expr | None:
        text = word.text
        if text in ("true", "false"):
            return build.boolean(text == "true")
        if len(text) > _DIGITS:
            self.unsupported(word, "term", f"Literals of more than {_DIGITS} characters are not supported.")
        if _NUMERAL.fullmatch(text):
            return build.integer(int(text))
        if _DECIMAL.fullmatch(text):
            return build.real(Fraction(text))
        for prefix, base, bits in (("#x", 16, 4), ("#b", 2, 1)):
            digits = text[2:]
            if text.startswith(prefix) and re.fullmatch(r"[0-9a-fA-F]+" if base == 16 else "[01]+", digits):
                return build.constant(int(digits, base), machine(bits * len(digits), signed=False))
        return None

    def _bit_literal(self, node: Group) -> Expr:
        words = [item.text if isinstance(item, Word) else "" for item in node.items]
        if len(words) == 3 and words[1][:2] == "bv" and words[1][2:].isdecimal() and words[2].isdecimal():
            width, value = int(words[2][:9]), int(words[1][2:][:_DIGITS])
            if 0 < width <= WIDEST and value < 1 << width:
                return build.constant(value, machine(width, signed=False))
        self.refuse(node, f"{self._text(node)} is not a term.", "A bit-vector is written `(_ bv5 32)`.")

    # ---------------------------------------------------------------------------------- errors

    def _text(self, node: Node) -> str:
        text = " ".join(self.source.text[node.at : min(node.end, node.at + 80)].split())
        return f"`{text if node.end <= node.at + 80 else f'{text} ...'}`"

    def refuse(self, node: Node, message: str, hint: str | None = None) -> NoReturn:
        """Raise `InputError` at a node."""
        refuse(self.source, node.at, node.end, message, hint)

    def unsupported(self, node: Node, what: str, message: str) -> NoReturn:
        """Raise `Unsupported` at a node; `what` is a key of `_HINTS`."""
        span = self.source.span(node.at, node.end)
        raise Unsupported(Diagnostic(f"unsupported-{what}", message, span=span, hint=_HINTS[what]))

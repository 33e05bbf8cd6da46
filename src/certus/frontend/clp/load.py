"""Load constraint logic programs (`.clp`) as systems of Horn clauses.

    % a comment
    :- relation p(int, array(int, int)).     optional; also `:- function f(int) = int.`
    p(I, A) :- I = 0.
    p(I + 1, store(A, I, 0)) :- p(I, A), I < N, ( q(I) ; A : array(int, int) ).
    false :- p(I, A), select(A, 0) > 0.      a query; also `?- p(I, A).`

Rules define relations as the least ones; satisfiable means that no query has an answer. `X : sort` states the
sort of a variable; other sorts are inferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NoReturn

from certus.core import build
from certus.core.accounting import Budget
from certus.core.errors import InputError
from certus.core.horn import Clause, HornSystem
from certus.core.terms import BOOL, INT, REAL, ArraySort, Expr, Function, MachineSort, Sort, array, machine
from certus.frontend.chc.clausify import Clausifier, NotHorn
from certus.frontend.chc.elaborate import Elaborator, Vocabulary
from certus.frontend.chc.operators import OPERATORS, WIDEST
from certus.frontend.chc.sexpr import Group, Node, Word
from certus.frontend.clp.reader import Rule, is_variable, read_rules, refuse
from certus.frontend.clp.sorts import Open, Type, apply_operator, sort_of, unify
from certus.frontend.clp.syntax import INDEXED
from certus.frontend.source import Source

_SORTS: Final = {"bool": BOOL, "int": INT, "real": REAL}
_NESTED: Final = 50  # most nested arrays
_DIRECTIVES: Final = "Write `:- relation p(int, bool).` or `:- function f(int) = int.`"
_DECLARE: Final = "Declare it: `:- function f(int) = int.`"


def load_clp(source: Source, budget: Budget) -> HornSystem:
    """Load the clauses of a text. Raises `InputError` if it is malformed, `BudgetExceeded` if reading takes
    too long."""
    program = _Program(source)
    for rule in read_rules(source, budget):
        program.add(rule)
    try:
        clauses = tuple(program.clauses(budget))
    except InputError as error:  # of the elaborator, which names SMT-LIB
        raise InputError([replace(each, code="bad-clp") for each in error.diagnostics]) from None
    return HornSystem(tuple(program.relations), clauses, source.text, source.file)


class _Program:
    """The rules and declarations of a text."""

    def __init__(self, source: Source) -> None:
        self._source: Final = source
        self._vocabulary: Final = Vocabulary()
        self._terms: Final = Elaborator(source, self._vocabulary)
        self._types: Final[dict[str, list[Type]]] = {}  # of the arguments of relations
        self._rules: Final[list[tuple[Node, dict[str, Type]]]] = []
        self.relations: Final[dict[Function, None]] = {}

    # -------------------------------------------------------------------------------- rules

    def add(self, rule: Rule) -> None:
        """Add a rule or a declaration."""
        if rule.head is None:
            assert rule.body is not None
            self._declare(rule.body)
            return
        scope: dict[str, Type] = {}
        head = _named(rule.head)
        if not (isinstance(head, Word) and head.text == "false" and not head.quoted):
            self._atom(head, scope)
        body = _named(rule.body) if rule.body is not None else Word("true", rule.at, rule.at)
        implication = Group(rule.at)
        implication.end = rule.end
        implication.items.extend([Word("=>", rule.at, rule.end), self._formula(body, scope), head])
        self._rules.append((implication, scope))

    def clauses(self, budget: Budget) -> Iterator[Clause]:
        """Yield the clauses of all rules, after the sorts are inferred."""
        for name, types in self._types.items():
            function = Function(name, tuple(map(sort_of, types)), BOOL)
            self._vocabulary.functions[name] = function
            self.relations[function] = None
        for rule, scope in self._rules:
            budget.check()
            yield from self._clauses_of(rule, scope)

    def _clauses_of(self, rule: Node, scope: dict[str, Type]) -> list[Clause]:
        terms = self._terms
        terms.forget_variables()
        declared = _declarations(rule, scope)
        free = terms.open_scope(declared)
        formula = terms.term(rule)
        terms.close_scope(declared)
        try:
            return Clausifier(self.relations, terms.names, terms.variable).clauses(formula, free)
        except NotHorn as problem:
            self._refuse(rule, str(problem))

    # ----------------------------------------------------------------------------- formulas

    def _formula(self, root: Node, scope: dict[str, Type]) -> Node:
        """Check a body and collect the sorts of its variables; return it without sort annotations."""
        result: list[Node] = []
        work: list[tuple[Node, list[Node]]] = [(root, result)]
        while work:
            node, target = work.pop()
            head = node.head if isinstance(node, Group) else ""
            if isinstance(node, Group) and head in ("and", "or") and not _quoted(node):
                copy = Group(node.at)
                copy.end = node.end
                copy.items.append(node.items[0])
                target.append(copy)
                work += [(item, copy.items) for item in reversed(node.items[1:])]
            elif isinstance(node, Group) and head == ":":
                target.append(self._annotation(node, scope))
            elif self._is_atom(node):
                self._atom(node, scope)
                target.append(node)
            else:
                unify(self._type(node, scope), BOOL)
                target.append(self._term_node(node))
        return result[0]

    def _is_atom(self, node: Node) -> bool:
        if is_variable(node):
            return False
        name = _head(node)
        if _quoted(node):
            return name not in self._vocabulary.functions
        return not (name in OPERATORS or name in INDEXED or name in ("true", "false", "const", "bv")) and (
            name not in self._vocabulary.functions and not name[:1].isdigit()
        )

    def _atom(self, node: Node, scope: dict[str, Type]) -> None:
        name = _head(node)
        arguments = node.items[1:] if isinstance(node, Group) else []
        if not self._is_atom(node) or not name:
            self._refuse(
                node, "The head of a rule is expected here.", "Write a relation, `r(X)`, or `false`."
            )
        types = self._types.setdefault(name, [Open() for _ in arguments])
        if len(types) != len(arguments):
            message = f"`{name}` has {len(types)} arguments elsewhere, and {len(arguments)} here."
            self._refuse(node, message, "Rename one of the relations.")
        for argument, type in zip(arguments, types, strict=True):
            unify(self._type(argument, scope), type)
        if isinstance(node, Group):
            node.items[1:] = map(self._term_node, arguments)

    def _annotation(self, node: Group, scope: dict[str, Type]) -> Node:
        _, variable, sort = node.items
        if not is_variable(variable):
            self._refuse(variable, "A variable is expected before `:`.", "Write `X : real`.")
        unify(self._type(variable, scope), self._sort(sort))
        return Word("true", node.at, node.end)

    def _type(self, root: Node, scope: dict[str, Type]) -> Type:
        """Return the sort of a term, and collect the equations of sorts within it."""
        values: list[Type] = []
        work: list[tuple[Node, bool]] = [(root, False)]
        while work:
            node, ready = work.pop()
            if isinstance(node, Word):
                values.append(self._type_of_word(node, scope))
            elif not ready:
                work.append((node, True))
                work += [(item, False) for item in reversed(node.items[self._first(node) :])]
            else:
                split = len(values) - (len(node.items) - self._first(node))
                arguments = values[split:]
                del values[split:]
                values.append(self._applied(node, arguments))
        return values[0]

    def _type_of_word(self, word: Word, scope: dict[str, Type]) -> Type:
        if is_variable(word):
            return scope.setdefault(word.text, Open())
        if word.text in ("true", "false") and not word.quoted:
            return BOOL
        if word.text[:1].isdigit():
            return REAL if "." in word.text else Open()
        function = self._vocabulary.functions.get(word.text)
        if function is None or function.parameters:
            self._refuse(word, f"`{word.text}` is not declared.", "Variables begin with a capital letter.")
        return function.result

    def _first(self, node: Group) -> int:
        """Return the position of the first argument that is a term."""
        name = _head(node)
        if _quoted(node):
            return 1
        if name == "bv":
            return len(node.items)
        return 2 if name == "const" else 1 + INDEXED.get(name, 0)

    def _applied(self, node: Group, arguments: list[Type]) -> Type:
        name = _head(node)
        function = self._vocabulary.functions.get(name)
        if function is not None:
            for argument, sort in zip(arguments, function.parameters, strict=False):
                unify(argument, sort)
            return function.result
        if not _quoted(node):
            if name == "const" and len(node.items) == 3:
                sort = self._sort(node.items[1])
                if isinstance(sort, ArraySort):
                    unify(arguments[0], sort.element)
                return sort
            if name == "bv":
                return self._bits(node).sort
            if name in INDEXED:
                return self._indexed(node, arguments)
            if name in OPERATORS:
                return apply_operator(name, arguments)
        if name in self._types:
            self._refuse(node, f"The relation `{name}` inside a term, or negated, is not allowed.")
        self._refuse(node, f"There is no function `{name}`.", _DECLARE)

    def _indexed(self, node: Group, arguments: list[Type]) -> Type:
        """Return the sort of an operator with indices, if its width follows from these."""
        numbers = [int(n.text[:9]) for n in node.items[1:3] if isinstance(n, Word) and n.text.isdecimal()]
        name, width = node.head, 0
        if name == "extract" and len(numbers) == 2:
            width = numbers[0] - numbers[1] + 1
        elif name in ("int2bv", "int_to_bv", "nat2bv") and numbers:
            width = numbers[0]
        elif name.startswith("rotate") and arguments:
            return arguments[0]
        return machine(width, signed=False) if 0 < width <= WIDEST else Open()

    # --------------------------------------------------------------------- SMT-LIB, as nodes

    def _term_node(self, root: Node) -> Node:
        """Return a term as SMT-LIB writes it: indexed operators, constants and sorts differ."""
        work: list[Node] = [root]
        while work:
            node = work.pop()
            if not isinstance(node, Group) or _quoted(node):
                work += node.items[1:] if isinstance(node, Group) else ()
                continue
            name, items = node.head, node.items
            if name == "bv" and isinstance(items[0], Word):
                value = self._bits(node)
                width = value.sort
                assert isinstance(width, MachineSort)
                words = ("_", f"bv{value.value}", str(width.width))
                items[:] = [Word(text, node.at, node.end) for text in words]
            elif name == "const" and len(items) == 3:
                operator = _group(node, Word("as", node.at, node.end), items[0])
                operator.items.append(_sort_node(self._sort(items[1]), node))
                items[:2] = [operator]
            elif name in INDEXED and len(items) > INDEXED[name]:
                count = INDEXED[name] + 1
                items[:count] = [_group(node, Word("_", node.at, node.end), *items[:count])]
            work += items[1:]
        return root

    def _bits(self, node: Group) -> Expr:
        numbers = [item.text for item in node.items[1:] if isinstance(item, Word) and item.text.isdecimal()]
        if len(numbers) == len(node.items) - 1 == 2:
            value, width = (int(text[:4000]) for text in numbers)
            if 0 < width <= WIDEST and value < 1 << width:
                return build.constant(value, machine(width, signed=False))
        self._refuse(node, "This is not a bit-vector.", "Write `bv(value, width)`, as `bv(5, 32)`.")

    # -------------------------------------------------------------------------- declarations

    def _declare(self, node: Node) -> None:
        """Read `relation p(S, ...)` or `function f(S, ...) = S`, which the reader takes as one call."""
        kind, declared = self._directive(node)
        if kind == "relation":
            name = _head(declared)
            if name in self._types:
                self._refuse(declared, f"`{name}` is declared after its first use, or twice.", "Move it up.")
            items = declared.items[1:] if isinstance(declared, Group) else []
            self._types[name] = [self._sort(item) for item in items]
            return
        if not isinstance(declared, Group) or declared.head != "=" or len(declared.items) != 3:
            self._refuse(declared, "This declaration has no result.", _DIRECTIVES)
        _, left, result = declared.items
        name = _head(left)
        sorts = tuple(self._sort(item) for item in (left.items[1:] if isinstance(left, Group) else ()))
        if self._sort(result) is BOOL:
            self._refuse(result, "A function to bool is a relation.", _DIRECTIVES)
        if name in self._vocabulary or name in self._types:
            self._refuse(left, f"`{name}` is declared twice.", "Rename one of them.")
        self._vocabulary.functions[name] = Function(name, sorts, self._sort(result))

    def _directive(self, node: Node) -> tuple[str, Node]:
        if isinstance(node, Group) and node.head in ("relation", "function") and len(node.items) == 2:
            return node.head, node.items[1]
        self._refuse(node, "There is no such declaration.", _DIRECTIVES)

    def _sort(self, node: Node, depth: int = 0) -> Sort:
        if isinstance(node, Word) and node.text in _SORTS:
            return _SORTS[node.text]
        if isinstance(node, Group) and node.head == "array" and len(node.items) == 3 and depth < _NESTED:
            return array(self._sort(node.items[1], depth + 1), self._sort(node.items[2], depth + 1))
        if isinstance(node, Group) and node.head == "bv" and len(node.items) == 2:
            width = node.items[1]
            if isinstance(width, Word) and width.text.isdecimal() and 0 < int(width.text[:9]) <= WIDEST:
                return machine(int(width.text), signed=False)
        self._refuse(node, "This is not a sort.", "Sorts are int, bool, real, bv(32), array(int, int).")

    def _refuse(self, node: Node, message: str, hint: str | None = None) -> NoReturn:
        refuse(self._source, node.at, node.end, message, hint)


def _head(node: Node) -> str:
    return node.text if isinstance(node, Word) else node.head


def _quoted(node: Node) -> bool:
    first = node if isinstance(node, Word) else node.items[0]
    return isinstance(first, Word) and first.quoted


def _group(like: Node, *items: Node) -> Group:
    group = Group(like.at)
    group.end = like.end
    group.items.extend(items)
    return group


def _named(root: Node) -> Node:
    """Return a formula in which every `_` is a variable of its own."""
    number = 0
    holder = _group(root, root)
    work = [holder]
    while work:
        group = work.pop()
        for place, item in enumerate(group.items):
            if isinstance(item, Group):
                work.append(item)
            elif item.text == "_" and not item.quoted:
                number += 1
                group.items[place] = Word(f"_{item.at}", item.at, item.end)
    return holder.items[0]


def _declarations(rule: Node, scope: dict[str, Type]) -> Group:
    """Return the variables of a rule as SMT-LIB declares them, `((X Int) ...)`."""
    declared = _group(rule)
    for name, type in scope.items():
        variable = Word(name, rule.at, rule.end)
        declared.items.append(_group(rule, variable, _sort_node(sort_of(type), rule)))
    return declared


def _sort_node(sort: Sort, like: Node) -> Node:
    if isinstance(sort, ArraySort):
        parts = (_sort_node(sort.index, like), _sort_node(sort.element, like))
        return _group(like, Word("Array", like.at, like.end), *parts)
    if isinstance(sort, MachineSort):
        return _group(like, *(Word(text, like.at, like.end) for text in ("_", "BitVec", str(sort.width))))
    return Word(sort.name, like.at, like.end)

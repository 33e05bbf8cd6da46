"""Load CHC-COMP files: SMT-LIB scripts as systems of Horn clauses.

Satisfiable means safe. Functions to Bool are relations; other functions and constants are uninterpreted. The
script ends at its first `check-sat`. `clausify` defines the form of a clause.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from certus.core.accounting import Budget
from certus.core.horn import Clause, HornSystem
from certus.core.terms import BOOL, Expr, Function, Sort
from certus.frontend.chc.clausify import Clausifier, NotHorn
from certus.frontend.chc.elaborate import Elaborator, Macro, Vocabulary
from certus.frontend.chc.operators import OPERATORS
from certus.frontend.chc.sexpr import Group, Node, Word, read_commands, refuse
from certus.frontend.source import Source

MAX_BYTES: Final = 1_000_000_000  # the time budget limits large files
_IGNORED: Final = frozenset(
    {"set-logic", "set-info", "set-option", "echo", "exit"}
    | {f"get-{what}" for what in ("model", "proof", "info", "value", "unsat-core")}
)
_COMMANDS: Final = "Write `(declare-fun ...)`, `(assert ...)` or `(check-sat)`."
_DATA_TYPES: Final = ("declare-datatypes", "declare-datatype", "declare-codatatypes")


def load_chc(source: Source, budget: Budget) -> HornSystem:
    """Load the clauses of a script. Raises `InputError` if it is malformed, `Unsupported` if it has more than
    Horn clauses over numbers, bit-vectors and arrays, `BudgetExceeded` if reading takes too long."""
    script = _Script(source)
    for command in read_commands(source, budget):
        budget.check()
        script.run(command)
    script.require_question()
    return HornSystem(tuple(script.relations), tuple(script.clauses), source.text, source.file)


class _Script:
    """The relations and clauses of the commands so far."""

    def __init__(self, source: Source) -> None:
        self.relations: Final[dict[Function, None]] = {}
        self.clauses: Final[list[Clause]] = []
        self._source: Final = source
        self._vocabulary: Final = Vocabulary()
        self._terms: Final = Elaborator(source, self._vocabulary)
        self._asked = False
        self._commands: Final[dict[str, Callable[[Group], None]]] = {
            "assert": self._assert,
            "declare-fun": self._declare_function,
            "declare-const": self._declare_constant,
            "define-fun": self._define_function,
            "define-const": self._define_constant,
            "define-sort": self._define_sort,
            "check-sat": self._check,
        }

    def run(self, command: Group) -> None:
        word = command.head
        if word in _IGNORED:
            return
        if word in _DATA_TYPES or word == "declare-sort":
            what = "Algebraic data types" if word in _DATA_TYPES else "Uninterpreted sorts"
            self._terms.unsupported(command, "sort", f"{what} are not supported.")
        step = self._commands.get(word)
        if step is None:
            if not word:
                self._terms.refuse(command, "A command is expected here.", _COMMANDS)
            self._terms.unsupported(command, "command", f"The command `{word}` is not supported.")
        if self._asked and word != "check-sat":
            message = f"There is a `{word}` after `check-sat`, but only one query is supported."
            self._terms.unsupported(command, "command", message)
        step(command)

    def require_question(self) -> None:
        """Raise for a script without a query: it is empty, or its end is missing."""
        if not self._asked:
            text = self._source.text.rstrip()
            message = "The script ends without `(check-sat)`, so it has no query."
            hint = "Add `(check-sat)` after the last clause; if you wrote one, the file is truncated."
            refuse(self._source, max(len(text) - 1, 0), len(text), message, hint)

    # -------------------------------------------------------------------------- declarations

    def _parts(self, command: Group, count: int, form: str) -> list[Node]:
        if len(command.items) != count + 1:
            self._terms.refuse(command, f"This command does not have the form `{form}`.")
        return command.items[1:]

    def _new_name(self, node: Node) -> str:
        if not isinstance(node, Word):
            self._terms.refuse(node, "A name is expected here.")
        if node.text in self._vocabulary:
            self._terms.refuse(node, f"`{node.text}` is declared twice.", "Rename one of them.")
        if node.text in OPERATORS and not node.quoted:
            message = f"`{node.text}` is an operator of SMT-LIB and cannot be declared."
            self._terms.refuse(node, message, "Choose another name.")
        return node.text

    def _declare_function(self, command: Group) -> None:
        name, parameters, result = self._parts(command, 3, "(declare-fun f (S ...) S)")
        if not isinstance(parameters, Group):
            self._terms.refuse(
                parameters,
                "A list of sorts is expected here.",
                "Write `(S ...)`.",
            )
        self._declare(name, tuple(self._terms.sort(each) for each in parameters.items), result)

    def _declare_constant(self, command: Group) -> None:
        name, sort = self._parts(command, 2, "(declare-const c S)")
        self._declare(name, (), sort)

    def _declare(self, node: Node, parameters: tuple[Sort, ...], result: Node) -> None:
        name = self._new_name(node)
        function = Function(name, parameters, self._terms.sort(result))
        self._vocabulary.functions[name] = function
        if function.result is BOOL:
            self.relations[function] = None

    def _define_function(self, command: Group) -> None:
        name, declared, sort, body = self._parts(command, 4, "(define-fun f ((x S) ...) S t)")
        parameters = self._terms.open_scope(declared)
        term = self._terms.term(body)
        self._terms.close_scope(declared)
        self._terms.forget_variables()
        self._define(name, parameters, sort, body, term)

    def _define_constant(self, command: Group) -> None:
        name, sort, body = self._parts(command, 3, "(define-const c S t)")
        term = self._terms.term(body)
        self._terms.forget_variables()
        self._define(name, (), sort, body, term)

    def _define(self, node: Node, parameters: tuple[Expr, ...], sort: Node, body: Node, term: Expr) -> None:
        name = self._new_name(node)
        if term.sort is not self._terms.sort(sort):
            message = f"This term has the sort {term.sort}, not the declared one."
            self._terms.refuse(body, message, "Change the term or the declared sort.")
        self._vocabulary.macros[name] = Macro(parameters, term)

    def _define_sort(self, command: Group) -> None:
        name, parameters, sort = self._parts(command, 3, "(define-sort S () S)")
        if not isinstance(parameters, Group) or parameters.items:
            self._terms.unsupported(command, "sort", "Sorts with parameters are not supported.")
        self._vocabulary.sorts[self._new_name(name)] = self._terms.sort(sort)

    # ------------------------------------------------------------------------------ assertions

    def _check(self, command: Group) -> None:
        self._asked = True

    def _assert(self, command: Group) -> None:
        (root,) = self._parts(command, 1, "(assert formula)")
        self._terms.forget_variables()
        free: list[Expr] = []
        opened: list[Node] = []
        body = root
        while isinstance(body, Group) and body.head == "forall" and len(body.items) == 3:
            opened.append(body.items[1])
            free += self._terms.open_scope(body.items[1])
            body = body.items[2]
        formula = self._terms.term(body)
        for declarations in reversed(opened):
            self._terms.close_scope(declarations)
        if formula.sort is not BOOL:
            message = f"A formula is expected here, not a term of sort {formula.sort}."
            self._terms.refuse(body, message)
        terms = self._terms
        splitter = Clausifier(self.relations, terms.names, terms.variable)
        try:
            self.clauses.extend(splitter.clauses(formula, tuple(free)))
        except NotHorn as problem:
            terms.unsupported(root, "clause", str(problem))

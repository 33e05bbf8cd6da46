"""Parse single expressions: predicates and assumptions outside a program.

They have the syntax of programs. The scope may contain any names that Certus itself prints, such as `main.x`,
`f.$result0`, `old(f.n)` or `g.y/1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from certus.core.terms import INT, Expr, Sort
from certus.frontend.lp import ast
from certus.frontend.lp.expressions import Elaborator
from certus.frontend.lp.messages import Findings
from certus.frontend.lp.parser import parse_tree_of_expression
from certus.frontend.source import Source

_HINT: Final = "Use variables, constants and operators only."


def parse_expression(
    text: str, scope: Mapping[str, Expr], *, sort: Sort | None = None, file: str = "<expression>"
) -> Expr:
    """Return the term that `text` denotes; it must have the sort `sort`, if that is set.

    Raises `InputError` with the positions of all errors. A division by zero has an arbitrary value here, as
    in terms."""
    source = Source(text, file)
    findings = Findings(source)
    tree = parse_tree_of_expression(source, [name for name in scope if not name.isidentifier()])
    elaborator = Elaborator(_Variables(scope, findings), findings)
    value = elaborator.elaborate(tree, sort or elaborator.natural_sort(tree) or INT)
    findings.raise_errors()
    return value.term


class _Variables:
    """The scope of a single expression."""

    def __init__(self, scope: Mapping[str, Expr], findings: Findings) -> None:
        self._scope = scope
        self._findings = findings

    def variable(self, name: ast.Name) -> Expr | None:
        variable = self._scope.get(name.name)
        if variable is None:
            message = f"There is no variable `{name.name}` here."
            listed = ", ".join(f"`{each}`" for each in list(self._scope)[:10])
            hint = f"Variables in scope: {listed}." if listed else None
            self._findings.error("undeclared-variable", message, name.start, name.end, hint)
        return variable

    def any_value(self, star: ast.Nondet, sort: Sort) -> None:
        message = "A predicate cannot contain a nondeterministic value."
        self._findings.error("nondeterministic-value", message, star.start, star.end, _HINT)

    def invocation(self, call: ast.Invocation) -> None:
        message = "A predicate cannot contain a call."
        self._findings.error("nested-call", message, call.start, call.end, _HINT)

    def sort_of(self, name: str) -> Sort | None:
        variable = self._scope.get(name)
        return variable.sort if variable is not None else None

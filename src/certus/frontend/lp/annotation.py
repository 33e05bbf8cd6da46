"""Expressions that stand alone: predicates and assumptions that a user gives beside a program.

They are written as in programs, over the names that the scope lists. These may be any names Certus
itself prints, such as `main.x`, `f.$result0`, `old(f.n)` or `g.y/1`.
"""

from __future__ import annotations

from collections.abc import Mapping

from certus.core.sorts import INT, Sort
from certus.core.terms import Expr
from certus.frontend.lp import ast
from certus.frontend.lp.expressions import Elaborator
from certus.frontend.lp.messages import Findings
from certus.frontend.lp.parser import parse_tree_of_expression
from certus.frontend.source import Source


def parse_expression(
    text: str, scope: Mapping[str, Expr], *, sort: Sort | None = None, file: str = "<expression>"
) -> Expr:
    """The term that `text` stands for. With `sort`, it must have that sort.

    Raises `InputError` with the positions of all that is wrong. A division by zero has an arbitrary
    value here, as it has in terms."""
    source = Source(text, file)
    findings = Findings(source)
    tree = parse_tree_of_expression(source, [name for name in scope if not name.isidentifier()])
    elaborator = Elaborator(_Variables(scope, findings), findings)
    value = elaborator.elaborate(tree, sort or elaborator.natural_sort(tree) or INT)
    findings.raise_errors()
    return value.term


class _Variables:
    """The scope of an annotation."""

    def __init__(self, scope: Mapping[str, Expr], findings: Findings) -> None:
        self._scope = scope
        self._findings = findings

    def variable(self, name: ast.Name) -> Expr | None:
        found = self._scope.get(name.name)
        if found is None:
            message = f"There is no variable `{name.name}` here."
            listed = ", ".join(f"`{known}`" for known in list(self._scope)[:10])
            hint = f"Variables in scope: {listed}." if listed else None
            self._findings.error("undeclared-variable", message, name.start, name.end, hint)
        return found

    def any_value(self, star: ast.Nondet, sort: Sort) -> None:
        message = "A nondeterministic value cannot stand in a predicate."
        self._findings.error("nondeterministic-value", message, star.start, star.end)

    def invocation(self, call: ast.Invocation) -> None:
        message = "A call cannot stand in a predicate."
        self._findings.error("nested-call", message, call.start, call.end)

    def sort_of(self, name: str) -> Sort | None:
        found = self._scope.get(name)
        return found.sort if found is not None else None

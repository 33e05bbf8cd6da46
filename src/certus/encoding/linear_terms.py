"""Tell which terms over Int and Bool are linear, and which parts of the others are not.

Linear are sums, products with a constant, comparisons, Boolean connectives, conditional terms, and division
by a constant other than 0. A subterm with any other operator is *opaque*.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from certus.core.sorts import BOOL, INT
from certus.core.terms import Expr, Kind

_LINEAR: Final = {
    Kind.CONST, Kind.NOT, Kind.AND, Kind.OR, Kind.ITE, Kind.EQ, Kind.LE, Kind.LT, Kind.ADD,
}  # fmt: skip
_BY_CONSTANT: Final = {Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD}


def is_linear_operator(term: Expr) -> bool:
    """Tell whether the operator of `term` is linear."""
    if term.kind in _LINEAR:
        return all(a.sort is BOOL or a.sort is INT for a in (term, *term.args))
    if term.kind is Kind.MUL:
        return len(term.args) == 2 and term.args[0].kind is Kind.CONST and term.sort is INT
    if term.kind in _BY_CONSTANT and term.sort is INT:
        return term.args[1].kind is Kind.CONST and term.args[1].value != 0
    return False


def opaque_terms(parts: Sequence[Expr], columns: Collection[Expr]) -> tuple[Expr, ...]:
    """Return the largest subterms of `parts`, other than `columns`, whose operator is not linear."""
    opaque: dict[Expr, None] = {}
    seen = set(columns)
    stack = list(reversed(parts))
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if is_linear_operator(term):
            stack.extend(reversed(term.args))
        else:
            opaque[term] = None
    return tuple(opaque)

"""Which operators linear arithmetic has no exact word for."""

from __future__ import annotations

from typing import Final

from certus.core.sorts import ArraySort
from certus.core.terms import Expr, Kind

BITS: Final = frozenset({Kind.BIT_AND, Kind.BIT_OR, Kind.BIT_XOR, Kind.BIT_NOT, Kind.SHL, Kind.SHR})
DIVISIONS: Final = frozenset({Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD})


def is_product(term: Expr) -> bool:
    """Whether two factors are no constants, or the divisor is none."""
    if term.kind is Kind.MUL:
        return sum(factor.kind is not Kind.CONST for factor in term.args) > 1
    return term.kind in DIVISIONS and term.args[1].kind is not Kind.CONST


def is_linear(term: Expr) -> bool:
    """Whether the operator of a term is that of a linear expression over numbers."""
    arrays = any(isinstance(each.sort, ArraySort) for each in (term, *term.args))
    return not (term.kind in BITS or is_product(term) or arrays)

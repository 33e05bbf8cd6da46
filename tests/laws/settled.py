"""Questions that have no model if a solver agrees with the evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.laws.strategies import literal

from certus.core import build as make
from certus.core.errors import Undefined
from certus.core.terms import Expr
from certus.core.values import evaluate
from certus.core.walk import variables


def settled(term: Expr, env: dict[Expr, Any]) -> list[Expr]:
    """`term` differs from the value the evaluator gives it, though its variables have theirs."""
    expected = literal(evaluate(term, env), term.sort)
    fixed = [make.eq(v, literal(env[v], v.sort)) for v in variables(term)]
    return [*fixed, make.ne(term, expected)]


def some_settled(terms: Sequence[Expr], env: dict[Expr, Any]) -> list[Expr]:
    """One of the terms that have a value differs from it."""
    query: list[Expr] = []
    wrong: list[Expr] = []
    for term in terms:
        try:
            *fixed, differs = settled(term, env)
        except Undefined:
            continue
        query += fixed
        wrong.append(differs)
    return [*query, make.disjunction(wrong)]

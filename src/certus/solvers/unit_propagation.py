"""Simplify formulas by unit propagation before a solver sees them.

An unrolled program is a set of clauses `not here or condition`. If an error must be reached, most literals on
the only paths to it are true. Propagation turns the conditions they guard into formulas of their own, which a
solver can use as bounds and equations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from certus.core import build
from certus.core.terms import BOOL, Expr, Kind


def propagated(formulas: Iterable[Expr]) -> tuple[Expr, ...]:
    """Return equivalent formulas: implied literals become formulas, and clauses lose decided literals."""
    assignment: dict[Expr, bool] = {}  # the value of each decided variable
    facts: dict[Expr, None] = {}
    clauses: list[dict[Expr, None]] = []
    watching: dict[Expr, list[int]] = {}
    work = deque(formulas)
    while work:
        formula = work.popleft()
        if formula.kind is Kind.AND:
            work.extend(formula.args)
        elif formula.kind is Kind.OR:
            _watch(formula, len(clauses), watching)
            clauses.append(dict.fromkeys(formula.args))
            work.extend(_shortened(clauses[-1], assignment))
        elif _is_literal(formula):
            variable, value = _literal(formula)
            facts[formula] = None
            if variable not in assignment:
                assignment[variable] = value
                for number in watching.get(variable, ()):
                    work.extend(_shortened(clauses[number], assignment))
        else:
            facts[formula] = None
    open_clauses = (build.disjunction(clause) for clause in clauses if clause)
    return (*facts, *open_clauses)


def _watch(clause: Expr, number: int, watching: dict[Expr, list[int]]) -> None:
    for part in clause.args:
        if _is_literal(part):
            watching.setdefault(_literal(part)[0], []).append(number)


def _shortened(clause: dict[Expr, None], assignment: dict[Expr, bool]) -> list[Expr]:
    """Remove false literals from a clause. Empty it if it is true or has one part left, and return that part
    (false if none is left)."""
    if not clause:
        return []
    for part in list(clause):
        if _is_literal(part):
            variable, value = _literal(part)
            if variable in assignment:
                if assignment[variable] is value:
                    clause.clear()
                    return []
                del clause[part]
    if len(clause) > 1:
        return []
    rest = list(clause) or [build.FALSE]
    clause.clear()
    return rest


def _is_literal(formula: Expr) -> bool:
    atom = formula.args[0] if formula.kind is Kind.NOT else formula
    return atom.kind is Kind.VAR and atom.sort is BOOL


def _literal(formula: Expr) -> tuple[Expr, bool]:
    return (formula.args[0], False) if formula.kind is Kind.NOT else (formula, True)

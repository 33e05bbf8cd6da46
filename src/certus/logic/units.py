"""Unit propagation: what follows at once from the formulas that are literals.

An unrolled program is a set of clauses `not here or condition`. If an error must be reached, most literals on
the only ways to it are true, and what they imply holds outright: there it can serve as a bound or an
equation, where under a literal it could not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from certus.core import build
from certus.core.sorts import BOOL
from certus.core.terms import Expr, Kind


def propagated(formulas: Iterable[Expr]) -> tuple[Expr, ...]:
    """Formulas with the same models: literals that follow stand alone, and clauses are without them."""
    known: dict[Expr, bool] = {}  # literals, by their variables
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
            work.extend(_shortened(clauses[-1], known))
        elif _is_literal(formula):
            variable, value = _literal(formula)
            facts[formula] = None
            if variable not in known:
                known[variable] = value
                for number in watching.get(variable, ()):
                    work.extend(_shortened(clauses[number], known))
        else:
            facts[formula] = None
    left = (build.disjunction(clause) for clause in clauses if clause)
    return (*facts, *left)


def _watch(clause: Expr, number: int, watching: dict[Expr, list[int]]) -> None:
    for part in clause.args:
        if _is_literal(part):
            watching.setdefault(_literal(part)[0], []).append(number)


def _shortened(clause: dict[Expr, None], known: dict[Expr, bool]) -> list[Expr]:
    """Take the literals that are false out of a clause. If it is true, or one part is left, it is emptied;
    gives what then holds instead of it."""
    if not clause:
        return []
    for part in list(clause):
        if _is_literal(part):
            variable, value = _literal(part)
            if variable in known:
                if known[variable] is value:
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

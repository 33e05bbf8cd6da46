"""Equations in clauses as the values of variables; clauses that say nothing go.

A clause says nothing if its constraint is plainly false, if its body has its head, or if it was there before.
"""

from __future__ import annotations

from certus.core import build
from certus.core.horn import Clause, HornSystem, clause_of
from certus.core.terms import Expr
from certus.core.walk import substitute, substitute_all
from certus.logic.bindings import bindings
from certus.logic.intervals import conjuncts
from certus.transform.horn.stages import Made, Stage, Use, default, plain_use, stage


def with_values(system: HornSystem) -> Stage | None:
    """The system of simplified clauses; None if they are simple."""
    made: dict[Clause, Made] = {}
    changed = False
    for number, clause in enumerate(system.clauses):
        found = _simplified(clause)
        if found is None or found[0] in made or found[0].head in found[0].body:
            changed = True
            continue
        simple, values = found
        changed = changed or simple is not clause
        use = plain_use(number, clause)
        made[simple] = Made(simple, (Use(number, substitute_all(use.values, values), use.premises),))
    if not changed:
        return None
    return stage("values", system, list(made.values()), lambda m: default(m, system.relations, build.FALSE))


def _simplified(clause: Clause) -> tuple[Clause, dict[Expr, Expr]] | None:
    """The clause without variables that have a value, and these values; None if it never applies."""
    constraint, values = clause.constraint, dict[Expr, Expr]()
    while found := bindings(conjuncts(constraint)):
        constraint = substitute(constraint, found)
        values = dict(zip(values, substitute_all(values.values(), found), strict=True)) | found
    if constraint is build.FALSE:
        return None
    if not values:
        return (clause, values)
    atoms = substitute_all(clause.atoms, values)
    body = atoms[: len(clause.body)]
    return clause_of(body, constraint, None if clause.head is None else atoms[-1]), values

"""Relations with one clause, or with one use, replaced by their clauses.

A model says nothing of an inlined relation: a formula is found for it by interpolation, between the clauses
that derive it and those that use it; failing that, it is what they say.
"""

from __future__ import annotations

from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.horn import Clause, HornSystem, Model, clause_of
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function, Kind
from certus.core.values import default_value
from certus.core.walk import bind, size, substitute, substitute_all
from certus.logic.derive import as_term
from certus.logic.interpolation import path_system
from certus.logic.spacer import horn_model
from certus.transform.horn.stages import Made, Stage, Use, default, stage, unchanged

LARGEST: Final = 4000  # terms of a clause that inlining may make
EFFORT: Final = 1_000_000  # z3's unit of work, for the formula of an inlined relation


def without_relation(system: HornSystem, budget: Budget, statistics: Statistics) -> Stage | None:
    """The system without one relation; None if there is none to inline."""
    heads: dict[Function, list[int]] = {}
    users: dict[Function, list[int]] = {}
    for number, clause in enumerate(system.clauses):
        if clause.head is not None:
            heads.setdefault(clause.head.function, []).append(number)
        for atom in clause.body:
            users.setdefault(atom.function, []).append(number)
    for relation in system.relations:
        makers, uses = heads.get(relation, []), users.get(relation, [])
        itself = set(makers) & set(uses)
        cheap = len(makers) == 1 or (len(uses) == 1 and len(makers) <= 4)
        if itself or not makers or not uses or not cheap or len(set(uses)) < len(uses):
            continue
        made = _composed(system, relation, makers, uses)
        if made is None:
            continue

        def model(found: Model, relation: Function = relation) -> Model | None:
            return _completed(system, found, relation, budget, statistics)

        return stage("inline", system, made, model)
    return None


def _composed(
    system: HornSystem, relation: Function, makers: list[int], users: list[int]
) -> list[Made] | None:
    made: list[Made] = []
    for number, clause in enumerate(system.clauses):
        if number in makers:
            continue
        if number not in users:
            made.append(unchanged(number, clause))
            continue
        for maker in makers:
            found = _joined(system, number, maker, relation)
            if size(found.clause.constraint) > LARGEST:
                return None
            if found.clause.constraint is not build.FALSE:
                made.append(found)
    return made


def _joined(system: HornSystem, user: int, maker: int, relation: Function) -> Made:
    """The clause `user`, where the body of `maker` stands for its atom of `relation`."""
    outer, inner = system.clauses[user], system.clauses[maker]
    taken = {x.name for x in outer.variables}
    names: dict[Expr, Expr] = {}
    for x in inner.variables:
        name, number = x.name, 0
        while name in taken:
            number += 1
            name = f"{x.name}!{number}"
        taken.add(name)
        names[x] = build.var(name, x.sort)
    assert inner.head is not None
    constraint, head, *body = substitute_all((inner.constraint, inner.head, *inner.body), names)
    position = next(n for n, a in enumerate(outer.body) if a.function is relation)
    equations = [build.eq(a, b) for a, b in zip(outer.body[position].args, head.args, strict=True)]
    rest = [a for n, a in enumerate(outer.body) if n != position]
    whole = build.and_(outer.constraint, constraint, *equations)
    atoms = (*body, *rest)
    clause = clause_of(atoms, whole, outer.head)
    known = set(clause.variables)
    lost = {x: _anything(x) for x in (*names.values(), *outer.variables) if x not in known}
    values = tuple(substitute_all([names[x] for x in inner.variables], lost))
    first = Use(maker, values, tuple(-1 - n for n in range(len(body))))
    later = iter(range(len(body), len(atoms)))
    premises = tuple(0 if n == position else -1 - next(later) for n in range(len(outer.body)))
    second = Use(user, tuple(substitute_all(outer.variables, lost)), premises)
    return Made(clause, (first, second))


def _anything(variable: Expr) -> Expr:
    return as_term(default_value(variable.sort), variable.sort)


def _completed(
    system: HornSystem, model: Model, relation: Function, budget: Budget, statistics: Statistics
) -> Model | None:
    """The model with a formula for an inlined relation."""
    known = default(model, tuple(r for r in system.relations if r is not relation), build.TRUE)
    direct = _direct(system, known, relation)
    if direct is not None:
        return Model({**known.relations, relation: direct})
    parts: list[Clause] = []
    for clause in system.clauses:
        if all(a.function is not relation for a in clause.atoms):
            continue
        given = [known.meaning(a) for a in clause.body if a.function is not relation]
        body = tuple(a for a in clause.body if a.function is relation)
        head = clause.head
        if head is not None and head.function is not relation:
            given.append(build.not_(known.meaning(head)))
            head = None
        parts.append(clause_of(body, build.and_(clause.constraint, *given), head))
    found = horn_model(
        path_system(tuple(parts)), budget=budget, statistics=statistics, purpose="horn.back", effort=EFFORT
    )
    formula = _exactly(system, known, relation) if found is None else found.relations[relation]
    return Model({**known.relations, relation: formula})


def _direct(system: HornSystem, model: Model, relation: Function) -> tuple[tuple[Expr, ...], Expr] | None:
    """What the clauses of a relation say, if all their variables are its parameters."""
    parameters = tuple(build.var(f"@{n}", s) for n, s in enumerate(relation.parameters))
    cases: list[Expr] = []
    for clause in system.clauses:
        if clause.head is None or clause.head.function is not relation:
            continue
        own = dict(zip(clause.head.args, parameters, strict=True))
        if not set(clause.variables) <= set(own):
            return None
        same = [build.eq(p, a) for p, a in zip(parameters, clause.head.args, strict=True) if own[a] is not p]
        fixed = [build.eq(own[a], a) for a in own if a.kind is not Kind.VAR]
        parts = (clause.constraint, *same, *fixed, *(model.meaning(a) for a in clause.body))
        replaced = {a: p for a, p in own.items() if a.kind is Kind.VAR}
        cases.append(substitute(build.and_(*parts), replaced))
    return parameters, build.disjunction(cases)


def _exactly(system: HornSystem, model: Model, relation: Function) -> tuple[tuple[Expr, ...], Expr]:
    """What the clauses of a relation say, with quantifiers."""
    parameters = tuple(build.var(f"@{n}", s) for n, s in enumerate(relation.parameters))
    cases: list[Expr] = []
    for clause in system.clauses:
        if clause.head is not None and clause.head.function is relation:
            same = [build.eq(p, a) for p, a in zip(parameters, clause.head.args, strict=True)]
            whole = build.and_(clause.constraint, *same, *(model.meaning(a) for a in clause.body))
            cases.append(build.exists(tuple(x.sort for x in clause.variables), bind(whole, clause.variables)))
    return parameters, build.disjunction(cases)

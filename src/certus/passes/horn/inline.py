"""Inline relations with one defining clause or one use.

A model of the result has no formula for the inlined relation. The back map takes the clauses that derive the
relation, or the negation of those that use it, if either is a formula without quantifiers. Otherwise it
interpolates between the two, or else takes the exact definition.
"""

from __future__ import annotations

from typing import Final

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model, clause_of, parameters
from certus.core.terms import Expr, Function, Kind
from certus.core.values import default_value
from certus.core.walk import bind, size, substitute, substitute_all
from certus.interpolation.interpolants import path_system
from certus.passes.horn.stages import DerivedClause, Stage, Use, default, stage, unchanged
from certus.solvers.z3.derivations import as_term
from certus.solvers.z3.spacer import horn_model

LARGEST: Final = 4000  # most terms of a constraint after inlining
EFFORT: Final = 5_000_000  # z3's `rlimit` for the formula of an inlined relation


def without_relation(system: HornSystem, budget: Budget, statistics: Statistics) -> Stage | None:
    """Return the stage that inlines one relation; None if there is none to inline."""
    heads: dict[Function, list[int]] = {}
    users: dict[Function, list[int]] = {}
    for number, clause in enumerate(system.clauses):
        if clause.head is not None:
            heads.setdefault(clause.head.function, []).append(number)
        for atom in clause.body:
            users.setdefault(atom.function, []).append(number)
    for relation in system.relations:
        definitions, uses = heads.get(relation, []), users.get(relation, [])
        recursive = set(definitions) & set(uses)
        cheap = len(definitions) == 1 or (len(uses) == 1 and len(definitions) <= 4)
        if recursive or not definitions or not uses or not cheap or len(set(uses)) < len(uses):
            continue
        composed = _composed(system, relation, definitions, uses)
        if composed is None:
            continue

        def model_back(model: Model, relation: Function = relation) -> Model | None:
            return _completed(system, model, relation, budget, statistics)

        return stage("inline", system, composed, model_back)
    return None


def _composed(
    system: HornSystem, relation: Function, definitions: list[int], users: list[int]
) -> list[DerivedClause] | None:
    """Return the clauses with the definitions inlined; None if one becomes too large."""
    composed: list[DerivedClause] = []
    for number, clause in enumerate(system.clauses):
        if number in definitions:
            continue
        if number not in users:
            composed.append(unchanged(number, clause))
            continue
        for definition in definitions:
            joined = _joined(system, number, definition, relation)
            if size(joined.clause.constraint) > LARGEST:
                return None
            if joined.clause.constraint is not build.FALSE:
                composed.append(joined)
    return composed


def _joined(system: HornSystem, user: int, definition: int, relation: Function) -> DerivedClause:
    """Replace the atom of `relation` in the clause `user` by the body of `definition`."""
    outer, inner = system.clauses[user], system.clauses[definition]
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
    kept = set(clause.variables)
    lost = {x: _arbitrary_value(x) for x in (*names.values(), *outer.variables) if x not in kept}
    values = tuple(substitute_all([names[x] for x in inner.variables], lost))
    first = Use(definition, values, tuple(-1 - n for n in range(len(body))))
    later = iter(range(len(body), len(atoms)))
    premises = tuple(0 if n == position else -1 - next(later) for n in range(len(outer.body)))
    second = Use(user, tuple(substitute_all(outer.variables, lost)), premises)
    return DerivedClause(clause, (first, second))


def _arbitrary_value(variable: Expr) -> Expr:
    return as_term(default_value(variable.sort), variable.sort)


def _completed(
    system: HornSystem, model: Model, relation: Function, budget: Budget, statistics: Statistics
) -> Model | None:
    """Add a formula for the inlined relation to the model."""
    others = default(model, tuple(r for r in system.relations if r is not relation), build.TRUE)
    direct = _direct(system, others, relation) or _weakest(system, others, relation)
    if direct is not None:
        return Model({**others.relations, relation: direct})
    parts: list[Clause] = []
    for clause in system.clauses:
        if all(a.function is not relation for a in clause.atoms):
            continue
        meanings = [others.meaning(a) for a in clause.body if a.function is not relation]
        body = tuple(a for a in clause.body if a.function is relation)
        head = clause.head
        if head is not None and head.function is not relation:
            meanings.append(build.not_(others.meaning(head)))
            head = None
        parts.append(clause_of(body, build.and_(clause.constraint, *meanings), head))
    interpolated = horn_model(
        path_system(tuple(parts)), budget=budget, statistics=statistics, purpose="horn.back", effort=EFFORT
    )
    formula = (
        _definition(system, others, relation) if interpolated is None else interpolated.relations[relation]
    )
    return Model({**others.relations, relation: formula})


def _direct(system: HornSystem, model: Model, relation: Function) -> tuple[tuple[Expr, ...], Expr] | None:
    """Return the disjunction of a relation's clauses if all their variables are its parameters."""
    names = parameters(relation)
    cases: list[Expr] = []
    for clause in system.clauses:
        if clause.head is None or clause.head.function is not relation:
            continue
        own = dict(zip(clause.head.args, names, strict=True))
        if not set(clause.variables) <= set(own):
            return None
        same = [build.eq(p, a) for p, a in zip(names, clause.head.args, strict=True) if own[a] is not p]
        fixed = [build.eq(own[a], a) for a in own if a.kind is not Kind.VAR]
        parts = (clause.constraint, *same, *fixed, *(model.meaning(a) for a in clause.body))
        replaced = {a: p for a, p in own.items() if a.kind is Kind.VAR}
        cases.append(substitute(build.and_(*parts), replaced))
    return names, build.disjunction(cases)


def _weakest(system: HornSystem, model: Model, relation: Function) -> tuple[tuple[Expr, ...], Expr] | None:
    """Return the negated disjunction of the clauses that use a relation if all their variables are its
    arguments."""
    names = parameters(relation)
    cases: list[Expr] = []
    for clause in system.clauses:
        used = [a for a in clause.body if a.function is relation]
        if not used:
            continue
        own = dict(zip(used[0].args, names, strict=True))
        distinct = len(used) == 1 and len(own) == len(names) and all(a.kind is Kind.VAR for a in own)
        if not distinct or not set(clause.variables) <= set(own):
            return None
        head = build.TRUE if clause.head is None else build.not_(model.meaning(clause.head))
        parts = (clause.constraint, head, *(model.meaning(a) for a in clause.body if a is not used[0]))
        cases.append(substitute(build.and_(*parts), own))
    weakest = build.not_(build.disjunction(cases))
    return None if size(weakest) > LARGEST else (names, weakest)


def _definition(system: HornSystem, model: Model, relation: Function) -> tuple[tuple[Expr, ...], Expr]:
    """Return the disjunction of a relation's clauses, with quantifiers."""
    names = parameters(relation)
    cases: list[Expr] = []
    for clause in system.clauses:
        if clause.head is not None and clause.head.function is relation:
            same = [build.eq(p, a) for p, a in zip(names, clause.head.args, strict=True)]
            whole = build.and_(clause.constraint, *same, *(model.meaning(a) for a in clause.body))
            cases.append(build.exists(tuple(x.sort for x in clause.variables), bind(whole, clause.variables)))
    return names, build.disjunction(cases)

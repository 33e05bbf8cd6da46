"""Simplification of Horn clauses, step by step until nothing changes.

    values      an equation gives a variable of a clause its value; what is plainly false goes
    reachable   relations that nothing derives are empty, and what no query needs may be anything
    inline      a relation with one clause, or with one use, is replaced by its clauses
    arguments   an argument that nothing looks at goes

Each step has its way back (`stages`). A model says nothing of an inlined relation: one is found for it by
interpolation, between the clauses that derive it and those that use it; failing that, it is what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Undefined
from certus.core.horn import Clause, Derivation, HornSystem, Model
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Function, Kind
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.core.walk import bind, size, substitute, substitute_all, variables
from certus.logic.interpolation import path_system
from certus.logic.spacer import horn_model
from certus.transform.horn.arguments import without_arguments
from certus.transform.horn.stages import Made, Stage, Use, default, plain_use, stage, unchanged

ROUNDS: Final = 30
LARGEST: Final = 4000  # terms of a clause that inlining may make
EFFORT: Final = 1_000_000  # z3's unit of work, for the formula of an inlined relation


@dataclass(slots=True, eq=False)
class Preprocessed:
    """A system and all that was done to it."""

    system: HornSystem
    stages: list[Stage]

    def verdict(self, verdict: Verdict) -> Verdict | None:
        """The verdict on the original clauses; None if its evidence does not come back."""
        if isinstance(verdict, Safe):
            assert isinstance(verdict.proof, Model)
            model: Model | None = verdict.proof
            for done in reversed(self.stages):
                model = None if model is None else done.model(model)
            return None if model is None else Safe(model)
        if isinstance(verdict, Unsafe):
            assert isinstance(verdict.refutation, Derivation)
            found = verdict.refutation
            try:
                for done in reversed(self.stages):
                    found = done.derivation(found)
            except Undefined:
                return None
            return Unsafe(found)
        return verdict


def decide(
    system: HornSystem,
    search: Callable[[HornSystem], Verdict],
    *,
    simplify: bool,
    budget: Budget,
    statistics: Statistics,
) -> Verdict:
    """The verdict of a search on the simplified clauses, as one on the clauses as they are."""
    if not simplify:
        return search(system)
    prepared = preprocess(system, budget=budget, statistics=statistics)
    verdict = search(prepared.system)
    with statistics.timed("horn.back"):
        found = prepared.verdict(verdict)
    if found is not None:
        return found
    budget.check()
    message = "an answer was found, but not what it means for the clauses as they were given"
    return Unknown(Diagnostic("answer-not-read", message, Severity.NOTE, hint="try --set clp.preprocess=off"))


def preprocess(system: HornSystem, *, budget: Budget, statistics: Statistics) -> Preprocessed:
    """The system after all steps, as often as they change it."""
    done = Preprocessed(system, [])
    with statistics.timed("horn.preprocess"):
        for _ in range(ROUNDS):
            before = done.system
            for found in _round(done, budget, statistics):
                done.stages.append(found)
                done.system = found.after
                budget.check()
            if done.system is before:
                break
    statistics.counters["horn.relations.after"] = len(done.system.relations)
    statistics.counters["horn.clauses.after"] = len(done.system.clauses)
    return done


def _round(done: Preprocessed, budget: Budget, statistics: Statistics) -> Iterator[Stage]:
    for step in (_values, _reachable, without_arguments):
        found = step(done.system)
        if found is not None:
            yield found
    while True:
        inlined = _inlined(done.system, budget, statistics)
        if inlined is None:
            return
        yield inlined


# ---------------------------------------------------------------------------------------- values


def _values(system: HornSystem) -> Stage | None:
    made: list[Made] = []
    changed = False
    for number, clause in enumerate(system.clauses):
        found = _simplified(clause)
        if found is None or found[0] is not clause:
            changed = True
        if found is not None:
            simple, values = found
            use = plain_use(number, clause)
            made.append(Made(simple, (Use(number, substitute_all(use.values, values), use.premises),)))
    return (
        stage("values", system, made, lambda m: default(m, system.relations, build.FALSE))
        if changed
        else None
    )


def _simplified(clause: Clause) -> tuple[Clause, dict[Expr, Expr]] | None:
    """The clause without variables that have a value, and these values; None if it never applies."""
    constraint, values = clause.constraint, dict[Expr, Expr]()
    while found := _bindings(constraint):
        constraint = substitute(constraint, found)
        values = dict(zip(values, substitute_all(values.values(), found), strict=True)) | found
    if constraint is build.FALSE:
        return None
    if not values:
        return (clause, values)
    head = () if clause.head is None else (clause.head,)
    atoms = substitute_all((*clause.body, *head), values)
    body, top = atoms[: len(clause.body)], atoms[-1] if head else None
    return Clause(variables(constraint, *atoms), body, constraint, top), values


def _bindings(constraint: Expr) -> dict[Expr, Expr]:
    """Variables that the constraint gives values, none of which speaks of another of these variables."""
    chosen: dict[Expr, Expr] = {}
    for part in constraint.args if constraint.kind is Kind.AND else (constraint,):
        for variable, value in _readings(part):
            if variable not in chosen and not _leads_to(value, variable, chosen):
                chosen[variable] = value
                break
    resolved: dict[Expr, Expr] = {}
    for root in chosen:
        stack = [root]
        while stack:
            inside = [x for x in variables(chosen[stack[-1]]) if x in chosen]
            missing = [x for x in inside if x not in resolved]
            if missing and stack[-1] not in resolved:
                stack.extend(missing)
                continue
            top = stack.pop()
            if top not in resolved:
                resolved[top] = substitute(chosen[top], {x: resolved[x] for x in inside})
    return resolved


def _readings(part: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The ways to read a conjunct as the value of a variable."""
    if part.kind is Kind.VAR:
        yield part, build.TRUE
    elif part.kind is Kind.NOT and part.args[0].kind is Kind.VAR:
        yield part.args[0], build.FALSE
    elif part.kind is Kind.EQ:
        for one, other in (part.args, part.args[::-1]):
            if one.kind is Kind.VAR:
                yield one, other


def _leads_to(value: Expr, variable: Expr, chosen: dict[Expr, Expr]) -> bool:
    """Whether a value speaks of the variable, perhaps through the values chosen so far."""
    seen: set[Expr] = set()
    stack = list(variables(value))
    while stack:
        x = stack.pop()
        if x is variable:
            return True
        if x not in seen:
            seen.add(x)
            stack.extend(variables(chosen[x]) if x in chosen else ())
    return False


# ------------------------------------------------------------------------------------- reachable


def _reachable(system: HornSystem) -> Stage | None:
    derived: set[Function] = set()
    grown = True
    while grown:
        grown = False
        for clause in system.clauses:
            new = clause.head is not None and clause.head.function not in derived
            if new and clause.head is not None and all(a.function in derived for a in clause.body):
                derived.add(clause.head.function)
                grown = True
    alive = [(n, c) for n, c in enumerate(system.clauses) if all(a.function in derived for a in c.body)]
    needed: set[Function] = set()
    grown = True
    while grown:
        grown = False
        for _, clause in alive:
            if clause.head is None or clause.head.function in needed:
                for atom in clause.body:
                    if atom.function not in needed:
                        needed.add(atom.function)
                        grown = True
    kept = [(n, c) for n, c in alive if c.head is None or c.head.function in needed]
    if len(kept) == len(system.clauses):
        return None
    empty = tuple(r for r in system.relations if r not in derived)

    def model(found: Model) -> Model:
        return default(default(found, empty, build.FALSE), system.relations, build.TRUE)

    return stage("reachable", system, [unchanged(n, c) for n, c in kept], model)


# ---------------------------------------------------------------------------------------- inline


def _inlined(system: HornSystem, budget: Budget, statistics: Statistics) -> Stage | None:
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
    top = () if outer.head is None else (outer.head,)
    clause = Clause(variables(whole, *atoms, *top), atoms, whole, outer.head)
    known = set(clause.variables)
    lost = {x: _anything(x) for x in (*names.values(), *outer.variables) if x not in known}
    values = tuple(substitute_all([names[x] for x in inner.variables], lost))
    first = Use(maker, values, tuple(-1 - n for n in range(len(body))))
    later = iter(range(len(body), len(atoms)))
    premises = tuple(0 if n == position else -1 - next(later) for n in range(len(outer.body)))
    second = Use(user, tuple(substitute_all(outer.variables, lost)), premises)
    return Made(clause, (first, second))


def _anything(variable: Expr) -> Expr:
    from certus.core.values import default_value
    from certus.logic.derive import as_term

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
        atoms = (*clause.body, *(() if clause.head is None else (clause.head,)))
        if all(a.function is not relation for a in atoms):
            continue
        given = [meaning(a, known) for a in clause.body if a.function is not relation]
        body = tuple(a for a in clause.body if a.function is relation)
        head = clause.head
        if head is not None and head.function is not relation:
            given.append(build.not_(meaning(head, known)))
            head = None
        constraint = build.and_(clause.constraint, *given)
        parts.append(Clause(variables(constraint, *body, *((head,) if head else ())), body, constraint, head))
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
        parts = (clause.constraint, *same, *fixed, *(meaning(a, model) for a in clause.body))
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
            whole = build.and_(clause.constraint, *same, *(meaning(a, model) for a in clause.body))
            cases.append(build.exists(tuple(x.sort for x in clause.variables), bind(whole, clause.variables)))
    return parameters, build.disjunction(cases)


def meaning(atom: Expr, model: Model) -> Expr:
    """What a model says of an atom."""
    parameters, formula = model.relations[atom.function]
    return substitute(formula, dict(zip(parameters, atom.args, strict=True)))

"""What intervals of arguments (`intervals`) say of clauses.

An argument with one value for good goes. In a clause, formulas that the intervals of its body decide are
replaced by their values, and bounds of the variables that its constraint speaks of are given. The intervals
are inductive, so old and new clauses derive the same: a derivation stays one, and a model of the new clauses
is one of the old if it is held to the intervals.
"""

from __future__ import annotations

from certus.core import build
from certus.core.horn import Clause, HornSystem, Model, clause_of
from certus.core.sorts import BOOL
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import substitute, variables
from certus.logic.intervals import Interval, conjuncts
from certus.transform.horn.conditions import Clauses, Intervals
from certus.transform.horn.intervals import facts
from certus.transform.horn.spans import TRUTH, spans
from certus.transform.horn.stages import Made, Meaning, Stage, default, expanded, plain_use, stage, widened

Constants = dict[Function, dict[int, Expr]]  # by place


def without_constants(system: HornSystem, known: Intervals) -> Stage | None:
    """The system whose relations have no arguments of one value; None if there are none."""
    constants = {r: _constants(r, known[r]) if r in known else {} for r in system.relations}
    if not any(constants.values()):
        return None
    renamed = {r: _without(r, found) if found else r for r, found in constants.items()}
    made = [
        Made(_fixed(clause, constants, renamed), (plain_use(number, clause),))
        for number, clause in enumerate(system.clauses)
    ]
    clauses = tuple(item.clause for item in made)
    after = HornSystem(tuple(renamed.values()), clauses, system.source, system.file)

    def model(found: Model) -> Model:
        meanings = {}
        for r in system.relations:
            places = [place for place in range(len(r.parameters)) if place not in constants[r]]
            meanings[r] = _held(widened(r, places, found.relations[renamed[r]]), known.get(r))
        return Model(meanings)

    return Stage("constants", system, after, model, lambda found: expanded(made, found))


def _constants(relation: Function, intervals: tuple[Interval, ...]) -> dict[int, Expr]:
    found: dict[int, Expr] = {}
    for place, (sort, interval) in enumerate(zip(relation.parameters, intervals, strict=True)):
        if interval.low is not None and interval.low == interval.high:
            value = interval.low
            found[place] = build.boolean(bool(value)) if sort is BOOL else build.integer(value)
    return found


def _without(relation: Function, constants: dict[int, Expr]) -> Function:
    sorts = tuple(s for place, s in enumerate(relation.parameters) if place not in constants)
    return Function(relation.name, sorts, relation.result)


def _fixed(clause: Clause, constants: Constants, renamed: dict[Function, Function]) -> Clause:
    given = [
        build.eq(atom.args[place], value)
        for atom in clause.body
        for place, value in constants[atom.function].items()
    ]

    def cut(atom: Expr) -> Expr:
        gone = constants[atom.function]
        return build.apply(
            renamed[atom.function], [a for place, a in enumerate(atom.args) if place not in gone]
        )

    head = None if clause.head is None else cut(clause.head)
    return clause_of([cut(a) for a in clause.body], build.and_(clause.constraint, *given), head)


# ------------------------------------------------------------------------------------------ facts


def with_facts(system: HornSystem, known: Intervals) -> Stage | None:
    """The system whose clauses know the intervals of what they speak of; None if that is no news."""
    made: list[Made] = []
    clauses, changed = Clauses(), False
    for number, clause in enumerate(system.clauses):
        found = _informed(clause, clauses, known)
        changed = changed or found is not clause
        if found is not None:
            made.append(Made(found, (plain_use(number, clause),)))
    if not changed:
        return None

    def model(found: Model) -> Model:
        whole = default(found, system.relations, build.FALSE)
        return Model({r: _held(meaning, known.get(r)) for r, meaning in whole.relations.items()})

    return stage("facts", system, made, model)


def _held(meaning: Meaning, intervals: tuple[Interval, ...] | None) -> Meaning:
    """What is said of a relation, within its intervals: all of them, since one may hold because of others."""
    parameters, formula = meaning
    if intervals is None:
        return parameters, build.FALSE
    return parameters, build.and_(formula, *facts(parameters, intervals))


def _informed(clause: Clause, clauses: Clauses, known: Intervals) -> Clause | None:
    """The clause with what the intervals of its body say; None if it does not apply."""
    env, narrow = clauses.body_environment(clause, known), clauses.environment(clause, known)
    if env is None or narrow is None:
        return None
    parts = conjuncts(clause.constraint)
    decided = _decided(parts, env)
    kept = [part if part.kind is not Kind.OR else substitute(part, decided) for part in parts]
    spoken = [x for x in variables(*kept) if x in env]
    news = [_unsaid(env[x], narrow[x]) for x in spoken]
    given = [fact for fact in facts(spoken, news) if fact not in parts]
    if not given and all(new is old for new, old in zip(kept, parts, strict=True)):
        return clause
    return clause_of(clause.body, build.conjunction((*kept, *given)), clause.head)


def _unsaid(body: Interval, whole: Interval) -> Interval:
    """The bounds that come of a clause's body alone, and that its constraint does not make better."""
    return Interval(
        body.low if body.low == whole.low else None, body.high if body.high == whole.high else None
    )


def _decided(parts: tuple[Expr, ...], env: dict[Expr, Interval]) -> dict[Expr, Expr]:
    """The comparisons inside disjunctions whose truth is known."""
    seen = spans([part for part in parts if part.kind is Kind.OR], env)
    return {
        term: build.boolean(bool(interval.low))
        for term, interval in seen.items()
        if term.kind in (Kind.LE, Kind.LT, Kind.EQ) and term.sort is BOOL and interval != TRUTH
    }

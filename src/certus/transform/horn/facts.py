"""What intervals of arguments (`intervals`) say of clauses.

In a clause, formulas that the intervals of its body decide are replaced by their values, and bounds of the
variables that its constraint speaks of are given. The intervals
are inductive, so old and new clauses derive the same: a derivation stays one, and a model of the new clauses
is one of the old if it is held to the intervals.
"""

from __future__ import annotations

from certus.core import build
from certus.core.horn import Clause, HornSystem, Model, clause_of
from certus.core.sorts import BOOL
from certus.core.terms import Expr, Kind
from certus.core.walk import substitute, variables
from certus.logic.intervals import Interval, conjuncts
from certus.transform.horn.conditions import Clauses, Intervals
from certus.transform.horn.intervals import facts
from certus.transform.horn.spans import TRUTH, spans
from certus.transform.horn.stages import Made, Meaning, Stage, default, plain_use, stage


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

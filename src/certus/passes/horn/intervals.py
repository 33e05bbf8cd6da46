"""Compute intervals of the arguments of relations by a fixpoint, and use them to simplify clauses.

A clause maps the current intervals of its body's arguments to intervals of its head's. Where these keep
growing they are widened, first to the next number in the clauses, and then recomputed. Recomputation is
sound: applied to inductive intervals, the clauses give intervals within them, which are inductive too.

In a clause, formulas that the intervals of its body decide are replaced by their values, and bounds of the
variables in its constraint are added. The intervals are inductive, so old and new clauses derive the same
facts: a derivation needs no change, and a model of the new clauses restricted to the intervals is a model of
the old ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from certus.core import build
from certus.core.accounting import Budget
from certus.core.horn import Clause, HornSystem, Model, clause_of
from certus.core.intervals import ANY, Interval, conjuncts
from certus.core.terms import BOOL, INT, Expr, Function, Kind
from certus.core.walk import postorder, substitute, variables
from certus.passes.horn.conditions import TRUTH, Clauses, Intervals, spans
from certus.passes.horn.stages import DerivedClause, Meaning, Stage, default, plain_use, stage

_STEADY: Final = 3  # changes of a relation's intervals before they are widened
_JUMPS: Final = 6  # widenings to a number of the clauses before a bound is dropped
_NARROWINGS: Final = 2  # recomputations after widening
_MOST: Final = 100_000  # most conditions that are evaluated


def argument_intervals(system: HornSystem, budget: Budget) -> Intervals | None:
    """Return inductive intervals that contain all derivable facts; None if that takes too much work."""
    clauses = Clauses()
    intervals: Intervals = {}
    grown: dict[Function, int] = {}
    numbers = _numbers(system)
    users: dict[Function, dict[int, None]] = {}
    for number, clause in enumerate(system.clauses):
        for atom in clause.body:
            users.setdefault(atom.function, {})[number] = None
    waiting = deque(n for n, c in enumerate(system.clauses) if not c.body)
    queued = set(waiting)
    while waiting:
        budget.check()
        if clauses.evaluated > _MOST:
            return None
        number = waiting.popleft()
        queued.discard(number)
        head = system.clauses[number].head
        new = None if head is None else _concluded(system.clauses[number], head, clauses, intervals)
        if head is None or new is None:
            continue
        relation = head.function
        old = intervals.get(relation)
        if old is not None and all(n.within(o) for n, o in zip(new, old, strict=True)):
            continue
        times = grown[relation] = grown.get(relation, 0) + 1
        intervals[relation] = new if old is None else _grown(old, new, times, numbers)
        for user in users.get(relation, ()):
            if user not in queued:
                queued.add(user)
                waiting.append(user)
    for _ in range(_NARROWINGS):
        if clauses.evaluated <= _MOST:
            intervals = _recomputed(system, clauses, intervals, budget)
    return intervals


def _grown(
    old: tuple[Interval, ...], new: tuple[Interval, ...], times: int, numbers: list[int]
) -> tuple[Interval, ...]:
    pairs = zip(old, new, strict=True)
    if times <= _STEADY:
        return tuple(o.hull(n) for o, n in pairs)
    return tuple(_widened(o, n, numbers if times <= _STEADY + _JUMPS else []) for o, n in pairs)


def _recomputed(system: HornSystem, clauses: Clauses, intervals: Intervals, budget: Budget) -> Intervals:
    recomputed: Intervals = {}
    for clause in system.clauses:
        budget.check()
        head = clause.head
        new = None if head is None else _concluded(clause, head, clauses, intervals)
        if head is not None and new is not None:
            old = recomputed.get(head.function, new)
            recomputed[head.function] = tuple(o.hull(n) for o, n in zip(old, new, strict=True))
    return recomputed


def _concluded(
    clause: Clause, head: Expr, clauses: Clauses, intervals: Intervals
) -> tuple[Interval, ...] | None:
    """Return the intervals of a head's arguments; None if the clause cannot apply."""
    env = clauses.environment(clause, intervals)
    if env is None:
        return None
    of_terms = spans(head.args, env)
    return tuple(of_terms.get(a, ANY) for a in head.args)


def _numbers(system: HornSystem) -> list[int]:
    """Return the integers in the clauses and their neighbours, sorted."""
    numbers = {
        int(t.value) + near
        for t in postorder(*(t for c in system.clauses for t in (c.constraint, *c.atoms)))
        if t.kind is Kind.CONST and t.sort is INT
        for near in (-1, 0, 1)
    }
    return sorted(numbers)


def _widened(old: Interval, new: Interval, numbers: list[int]) -> Interval:
    both = old.hull(new)
    low, high = both.low, both.high
    if low is not None and low != old.low:
        at = bisect_right(numbers, low) - 1
        low = numbers[at] if at >= 0 else None
    if high is not None and high != old.high:
        at = bisect_left(numbers, high)
        high = numbers[at] if at < len(numbers) else None
    return Interval(low, high)


def facts(parameters: Iterable[Expr], intervals: Iterable[Interval]) -> Iterator[Expr]:
    """Yield formulas that restrict variables to their intervals."""
    for x, interval in zip(parameters, intervals, strict=True):
        if x.sort is BOOL and interval.low == interval.high:
            yield x if interval.low else build.not_(x)
        elif x.sort is INT and interval.low == interval.high and interval.low is not None:
            yield build.eq(x, build.integer(interval.low))
        elif x.sort is INT:
            if interval.low is not None:
                yield build.le(build.integer(interval.low), x)
            if interval.high is not None:
                yield build.le(x, build.integer(interval.high))


def with_facts(system: HornSystem, intervals: Intervals) -> Stage | None:
    """Return the stage that simplifies clauses by the intervals; None if no clause changes."""
    simplified: list[DerivedClause] = []
    clauses, changed = Clauses(), False
    for number, clause in enumerate(system.clauses):
        informed = _informed(clause, clauses, intervals)
        changed = changed or informed is not clause
        if informed is not None:
            simplified.append(DerivedClause(informed, (plain_use(number, clause),)))
    if not changed:
        return None

    def model_back(model: Model) -> Model:
        whole = default(model, system.relations, build.FALSE)
        return Model({r: _restricted(meaning, intervals.get(r)) for r, meaning in whole.relations.items()})

    return stage("facts", system, simplified, model_back)


def _restricted(meaning: Meaning, intervals: tuple[Interval, ...] | None) -> Meaning:
    """Conjoin a formula with all intervals of its relation, since one may be inductive only with the
    others."""
    parameters, formula = meaning
    if intervals is None:
        return parameters, build.FALSE
    return parameters, build.and_(formula, *facts(parameters, intervals))


def _informed(clause: Clause, clauses: Clauses, intervals: Intervals) -> Clause | None:
    """Return the clause simplified by the intervals of its body; None if it cannot apply."""
    env, narrow = clauses.body_environment(clause, intervals), clauses.environment(clause, intervals)
    if env is None or narrow is None:
        return None
    parts = conjuncts(clause.constraint)
    decided = _decided(parts, env)
    kept = [part if part.kind is not Kind.OR else substitute(part, decided) for part in parts]
    bounded = [x for x in variables(*kept) if x in env]
    bounds = [_unsaid(env[x], narrow[x]) for x in bounded]
    added = [fact for fact in facts(bounded, bounds) if fact not in parts]
    if not added and all(new is old for new, old in zip(kept, parts, strict=True)):
        return clause
    return clause_of(clause.body, build.conjunction((*kept, *added)), clause.head)


def _unsaid(body: Interval, whole: Interval) -> Interval:
    """Return the bounds that follow from a clause's body alone and that its constraint does not improve."""
    return Interval(
        body.low if body.low == whole.low else None, body.high if body.high == whole.high else None
    )


def _decided(parts: tuple[Expr, ...], env: dict[Expr, Interval]) -> dict[Expr, Expr]:
    """Return the values of comparisons inside disjunctions that the intervals decide."""
    intervals = spans([part for part in parts if part.kind is Kind.OR], env)
    return {
        term: build.boolean(bool(interval.low))
        for term, interval in intervals.items()
        if term.kind in (Kind.LE, Kind.LT, Kind.EQ) and term.sort is BOOL and interval != TRUTH
    }

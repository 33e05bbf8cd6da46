"""Intervals of the arguments of relations, as the clauses derive them: a fixpoint on our own terms.

An interval is over the integers; a formula has one within 0 (false) and 1 (true). A clause whose body is
within the intervals known so far gives those of its head. Where these keep growing they are widened, to the
next number that occurs in the clauses at first, and then recomputed: what comes of clauses within
intervals that no clause leaves is within them, and no clause leaves it either.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.horn import Clause, HornSystem
from certus.core.sorts import BOOL, INT
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import postorder
from certus.logic.intervals import ANY, Interval
from certus.transform.horn.conditions import Clauses, Intervals
from certus.transform.horn.spans import spans

_STEADY: Final = 3  # how often the intervals of a relation may grow before they are widened
_JUMPS: Final = 6  # how often they are widened to a number before there is no bound at all
_AGAIN: Final = 2  # recomputations after widening
_MOST: Final = 100_000  # conditions to look at, in all


def argument_intervals(system: HornSystem, budget: Budget) -> Intervals | None:
    """Intervals that contain all that the clauses derive, and that no clause leaves; None if finding them
    takes too much work."""
    clauses = Clauses()
    found: Intervals = {}
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
        if clauses.looks > _MOST:
            return None
        number = waiting.popleft()
        queued.discard(number)
        head = system.clauses[number].head
        new = None if head is None else _concluded(system.clauses[number], head, clauses, found)
        if head is None or new is None:
            continue
        relation = head.function
        old = found.get(relation)
        if old is not None and all(n.within(o) for n, o in zip(new, old, strict=True)):
            continue
        times = grown[relation] = grown.get(relation, 0) + 1
        found[relation] = new if old is None else _grown(old, new, times, numbers)
        for user in users.get(relation, ()):
            if user not in queued:
                queued.add(user)
                waiting.append(user)
    for _ in range(_AGAIN):
        if clauses.looks <= _MOST:
            found = _recomputed(system, clauses, found, budget)
    return found


def _grown(
    old: tuple[Interval, ...], new: tuple[Interval, ...], times: int, numbers: list[int]
) -> tuple[Interval, ...]:
    pairs = zip(old, new, strict=True)
    if times <= _STEADY:
        return tuple(o.hull(n) for o, n in pairs)
    return tuple(_widened(o, n, numbers if times <= _STEADY + _JUMPS else []) for o, n in pairs)


def _recomputed(system: HornSystem, clauses: Clauses, known: Intervals, budget: Budget) -> Intervals:
    found: Intervals = {}
    for clause in system.clauses:
        budget.check()
        head = clause.head
        new = None if head is None else _concluded(clause, head, clauses, known)
        if head is not None and new is not None:
            old = found.get(head.function, new)
            found[head.function] = tuple(o.hull(n) for o, n in zip(old, new, strict=True))
    return found


def _concluded(clause: Clause, head: Expr, clauses: Clauses, known: Intervals) -> tuple[Interval, ...] | None:
    """The intervals of a head's arguments; None if the clause does not apply."""
    env = clauses.environment(clause, known)
    if env is None:
        return None
    seen = spans(head.args, env)
    return tuple(seen.get(a, ANY) for a in head.args)


def _numbers(system: HornSystem) -> list[int]:
    """The integers that occur in the clauses, and their neighbours."""
    found = {
        int(t.value) + near
        for t in postorder(*(t for c in system.clauses for t in (c.constraint, *c.atoms)))
        if t.kind is Kind.CONST and t.sort is INT
        for near in (-1, 0, 1)
    }
    return sorted(found)


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
    """That variables are in their intervals."""
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

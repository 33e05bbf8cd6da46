"""Compute intervals of the variables of a clause from the intervals of its body's arguments.

The conjuncts of the constraint narrow the intervals: a sum or comparison by the intervals of its other parts,
a disjunction by the hull of its possible cases. Intervals are over the integers; a formula has an interval
within 0 (false) and 1 (true).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

from certus.core import build
from certus.core.horn import Clause
from certus.core.intervals import ANY, Interval, conjuncts, of_operation, point
from certus.core.terms import BOOL, INT, Expr, Function, Kind, Sort
from certus.core.walk import postorder

Intervals = dict[Function, tuple[Interval, ...]]  # of the arguments of derivable relations
Env = dict[Expr, Interval]  # of Int and Bool variables

TRUTH: Final = Interval(0, 1)
_PASSES: Final = 3  # most passes over the conjuncts of a clause


@dataclass(frozen=True, slots=True)
class _Sum:
    """The condition that a linear sum is in an interval."""

    parts: tuple[tuple[int, Expr], ...]
    interval: Interval


@dataclass(frozen=True, slots=True)
class _Different:
    """The condition that two terms differ."""

    one: Expr
    other: Expr


@dataclass(frozen=True, slots=True)
class _Cases:
    """The condition that at least one conjunction is true."""

    cases: tuple[tuple[_Simple, ...], ...]


@dataclass(frozen=True, slots=True)
class _Formula:
    """The condition that some other formula is true."""

    formula: Expr


_Simple = _Sum | _Different
_Condition = _Simple | _Cases | _Formula


def _conditions(constraint: Expr) -> tuple[_Condition, ...]:
    """Return the conjuncts of a constraint as conditions; inside disjunctions, only comparisons."""
    conditions: list[_Condition] = []
    for part in conjuncts(constraint):
        if part.kind is Kind.OR:
            cases = tuple(tuple(s for p in conjuncts(case) if (s := _simple(p))) for case in part.args)
            if all(cases):
                conditions.append(_Cases(cases))
        else:
            conditions.append(_simple(part) or _Formula(part))
    return tuple(conditions)


def _simple(part: Expr) -> _Simple | None:
    """Return a literal as a condition if it is a variable or a comparison of integers."""
    truth = part.kind is not Kind.NOT
    atom = part if truth else part.args[0]
    if atom.kind is Kind.VAR:
        return _Sum(((1, atom),), point(int(truth)))
    if atom.kind not in (Kind.LE, Kind.LT, Kind.EQ) or atom.args[0].sort is not INT:
        return None
    a, b = atom.args
    if atom.kind is Kind.EQ:
        return _sum(build.sub(a, b), point(0)) if truth else _Different(a, b)
    strict = atom.kind is Kind.LT
    if truth:
        return _sum(build.sub(a, b), Interval(None, -1 if strict else 0))
    return _sum(build.sub(b, a), Interval(None, 0 if strict else -1))


def _sum(term: Expr, interval: Interval) -> _Sum:
    parts = map(build.monomial, term.args if term.kind is Kind.ADD else (term,))
    return _Sum(tuple((int(factor), base) for factor, base in parts), interval)


class Clauses:
    """A cache of the conditions of clauses; `evaluated` counts conditions as a measure of work."""

    def __init__(self) -> None:
        self._conditions: dict[Expr, tuple[_Condition, ...]] = {}
        self._arguments: dict[Expr, tuple[tuple[int, Expr], ...]] = {}
        self.evaluated = 0

    def environment(self, clause: Clause, intervals: Intervals) -> Env | None:
        """Return the intervals of a clause's variables; None if the clause cannot apply within
        `intervals`."""
        env = self.body_environment(clause, intervals)
        if env is None:
            return None
        conditions = self._conditions.get(clause.constraint)
        if conditions is None:
            conditions = self._conditions[clause.constraint] = _conditions(clause.constraint)
        for _ in range(_PASSES):
            before = dict(env)
            self.evaluated += len(conditions)
            if not all(_holds(condition, env) for condition in conditions):
                return None
            if env == before:
                break
        return env

    def body_environment(self, clause: Clause, intervals: Intervals) -> Env | None:
        """Return the intervals of a clause's variables that follow from its body alone."""
        env: Env = {}
        for atom in clause.body:
            of_arguments = intervals.get(atom.function)
            if of_arguments is None:
                return None
            for argument, interval in zip(atom.args, of_arguments, strict=True):
                if is_measured(argument.sort) and not self._within(argument, interval, env):
                    return None
        return env

    def _within(self, argument: Expr, interval: Interval, env: Env) -> bool:
        parts = self._arguments.get(argument)
        if parts is None:
            parts = self._arguments[argument] = _sum(argument, interval).parts
        return _narrow(parts, interval, env)


def _holds(condition: _Condition, env: Env) -> bool:
    """Narrow the environment by a condition; return False if the condition cannot be true."""
    if isinstance(condition, _Sum):
        return _narrow(condition.parts, condition.interval, env)
    if isinstance(condition, _Different):
        return not _same(condition.one, condition.other, env)
    if isinstance(condition, _Cases):
        return _choose(condition.cases, env)
    return _formula_holds(condition.formula, env)


def _choose(cases: Iterable[tuple[_Simple, ...]], env: Env) -> bool:
    """Narrow the environment to the hull over the possible cases of a disjunction."""
    possible: list[Env] = []
    for case in cases:
        own = dict(env)
        if all(_holds(part, own) for part in case):
            possible.append(own)
    if not possible:
        return False
    for variable in [x for x in possible[0] if all(x in own for own in possible)]:
        env[variable] = reduce(Interval.hull, (own[variable] for own in possible))
    return True


def _formula_holds(formula: Expr, env: Env) -> bool:
    """Tell whether the formula can be true; narrow a variable that it equates with a decided formula."""
    intervals = spans([formula], env)
    if intervals[formula].high == 0:
        return False
    truth = formula.kind is not Kind.NOT
    atom = formula if truth else formula.args[0]
    if atom.kind is Kind.EQ and atom.args[0].sort is BOOL:
        for one, other in (atom.args, atom.args[::-1]):
            value = intervals[other]
            if one.kind is Kind.VAR and value.low is not None and value.low == value.high:
                return _narrow(((1, one),), point(value.low if truth else 1 - value.low), env)
    return True


def _same(a: Expr, b: Expr, env: Env) -> bool:
    """Tell whether two terms are always equal; remove a bound of a variable that must differ from it."""
    intervals = spans([a, b], env)
    one, other = intervals[a], intervals[b]
    for variable, mine, value in ((a, one, other), (b, other, one)):
        if variable.kind is Kind.VAR and value.low is not None and value.low == value.high:
            if mine.low == mine.high == value.low:
                return True
            if mine.low == value.low:
                env[variable] = Interval(value.low + 1, mine.high)
            elif mine.high == value.low:
                env[variable] = Interval(mine.low, value.low - 1)
    return one == other and one.low is not None and one.low == one.high


def _narrow(parts: tuple[tuple[int, Expr], ...], interval: Interval, env: Env) -> bool:
    """Narrow the variables of a sum that is in an interval; return False if that is impossible."""
    shares = [_value(base, env).scaled(factor) for factor, base in parts]
    for number, (factor, base) in enumerate(parts):
        others = reduce(Interval.plus, (s for place, s in enumerate(shares) if place != number), point(0))
        met = shares[number].meet(interval.plus(others.scaled(-1)))
        if met is None:
            return False
        if base.kind is Kind.VAR and met != shares[number]:
            narrow = _divided(met, factor)
            if narrow is None:
                return False
            env[base] = narrow
            shares[number] = narrow.scaled(factor)
    return True


def _value(term: Expr, env: Env) -> Interval:
    if term.kind is Kind.VAR:
        return env.get(term, TRUTH if term.sort is BOOL else ANY)
    return point(int(term.value)) if term.kind is Kind.CONST else spans([term], env)[term]


def _divided(interval: Interval, factor: int) -> Interval | None:
    """Return the interval of integers whose multiples are in an interval; None if it is empty."""
    if factor < 0:
        interval, factor = interval.scaled(-1), -factor
    low = None if interval.low is None else -(-interval.low // factor)
    high = None if interval.high is None else interval.high // factor
    return None if low is not None and high is not None and low > high else Interval(low, high)


def is_measured(sort: Sort) -> bool:
    """Tell whether terms of the sort have intervals."""
    return sort is INT or sort is BOOL


def spans(terms: Iterable[Expr], env: Mapping[Expr, Interval]) -> dict[Expr, Interval]:
    """Return the intervals of the Int and Bool terms and subterms."""
    intervals: dict[Expr, Interval] = {}
    for term in postorder(*terms):
        if is_measured(term.sort):
            intervals[term] = _span(term, intervals, env)
    return intervals


def _span(term: Expr, intervals: Mapping[Expr, Interval], env: Mapping[Expr, Interval]) -> Interval:
    if term.kind is Kind.CONST:
        return point(int(term.value))
    if term.kind is Kind.VAR:
        return env.get(term, TRUTH if term.sort is BOOL else ANY)
    if term.sort is BOOL:
        return _formula(term, intervals)
    inside = [intervals[a] for a in term.args if a in intervals]
    if term.kind is Kind.ITE:
        condition, one, other = inside
        return one.hull(other) if condition == TRUTH else one if condition.low else other
    return of_operation(term.kind, inside)


def _formula(term: Expr, intervals: Mapping[Expr, Interval]) -> Interval:
    inside = [intervals[a] for a in term.args if a in intervals]
    if term.kind is Kind.NOT:
        return Interval(1, 1).plus(inside[0].scaled(-1))
    if term.kind is Kind.AND:
        return Interval(min(i.low or 0 for i in inside), min(_high(i) for i in inside))
    if term.kind is Kind.OR:
        return Interval(max(i.low or 0 for i in inside), max(_high(i) for i in inside))
    if term.kind is Kind.ITE:
        condition, one, other = inside
        return one.hull(other) if condition == TRUTH else one if condition.low else other
    if term.kind in (Kind.LE, Kind.LT, Kind.EQ) and len(inside) == 2:
        return _comparison(term.kind, *inside)
    return TRUTH


def _high(interval: Interval) -> int:
    return 1 if interval.high is None else interval.high


def _comparison(kind: Kind, a: Interval, b: Interval) -> Interval:
    strict = kind is Kind.LT
    if kind is Kind.EQ:
        if a.meet(b) is None:
            return point(0)
        return point(1) if a == b and a.low is not None and a.low == a.high else TRUTH
    if a.high is not None and b.low is not None and a.high + strict <= b.low:
        return point(1)
    if a.low is not None and b.high is not None and a.low > b.high - strict:
        return point(0)
    return TRUTH

"""What the variables of a clause may be, given the intervals of its body's arguments.

The conjuncts of the constraint narrow the intervals of the variables: sums and comparisons by what their
other parts leave, disjunctions by what is possible in one of their cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Final

from certus.core import build
from certus.core.horn import Clause
from certus.core.sorts import BOOL, INT
from certus.core.terms import Expr, Function, Kind
from certus.logic.intervals import ANY, Interval, conjuncts, point
from certus.transform.horn.spans import TRUTH, is_measured, spans

Intervals = dict[Function, tuple[Interval, ...]]  # a relation that nothing derives is missing
Env = dict[Expr, Interval]  # of variables; Int and Bool only

_PASSES: Final = 3  # over the conjuncts of a clause


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of multiples that is in an interval."""

    parts: tuple[tuple[int, Expr], ...]
    interval: Interval


@dataclass(frozen=True, slots=True)
class _Different:
    """Two terms that are not equal."""

    one: Expr
    other: Expr


@dataclass(frozen=True, slots=True)
class _Cases:
    """At least one of the conjunctions is true."""

    cases: tuple[tuple[_Simple, ...], ...]


@dataclass(frozen=True, slots=True)
class _Formula:
    """Any other formula, which is true."""

    formula: Expr


_Simple = _Sum | _Different
_Condition = _Simple | _Cases | _Formula


def _conditions(constraint: Expr) -> tuple[_Condition, ...]:
    """What a constraint says of intervals; of what is inside disjunctions, comparisons alone."""
    found: list[_Condition] = []
    for part in conjuncts(constraint):
        if part.kind is Kind.OR:
            cases = tuple(tuple(s for p in conjuncts(case) if (s := _simple(p))) for case in part.args)
            if all(cases):
                found.append(_Cases(cases))
        else:
            found.append(_simple(part) or _Formula(part))
    return tuple(found)


def _simple(part: Expr) -> _Simple | None:
    """A literal that is a variable or a comparison of integers."""
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
    """Clauses prepared for many looks at them. `looks` counts conditions, and tells how much was done."""

    def __init__(self) -> None:
        self._conditions: dict[Expr, tuple[_Condition, ...]] = {}
        self._arguments: dict[Expr, tuple[tuple[int, Expr], ...]] = {}
        self.looks = 0

    def environment(self, clause: Clause, known: Intervals) -> Env | None:
        """What a clause's variables may be if its body is within the intervals; None if it does not apply."""
        env = self.body_environment(clause, known)
        if env is None:
            return None
        conditions = self._conditions.get(clause.constraint)
        if conditions is None:
            conditions = self._conditions[clause.constraint] = _conditions(clause.constraint)
        for _ in range(_PASSES):
            before = dict(env)
            self.looks += len(conditions)
            if not all(_holds(condition, env) for condition in conditions):
                return None
            if env == before:
                break
        return env

    def body_environment(self, clause: Clause, known: Intervals) -> Env | None:
        """What the intervals of a clause's body alone say of its variables."""
        env: Env = {}
        for atom in clause.body:
            intervals = known.get(atom.function)
            if intervals is None:
                return None
            for argument, interval in zip(atom.args, intervals, strict=True):
                if is_measured(argument.sort) and not self._within(argument, interval, env):
                    return None
        return env

    def _within(self, argument: Expr, interval: Interval, env: Env) -> bool:
        parts = self._arguments.get(argument)
        if parts is None:
            parts = self._arguments[argument] = _sum(argument, interval).parts
        return _narrow(parts, interval, env)


def _holds(condition: _Condition, env: Env) -> bool:
    """Make the environment as narrow as the condition allows it; False if that cannot be true."""
    if isinstance(condition, _Sum):
        return _narrow(condition.parts, condition.interval, env)
    if isinstance(condition, _Different):
        return not _same(condition.one, condition.other, env)
    if isinstance(condition, _Cases):
        return _choose(condition.cases, env)
    return _formula_holds(condition.formula, env)


def _choose(cases: Iterable[tuple[_Simple, ...]], env: Env) -> bool:
    """A disjunction: what is known in all of its cases that are possible."""
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
    """Whether the formula can be true; if it equates two formulas of which one is known, the other is too."""
    seen = spans([formula], env)
    if seen[formula].high == 0:
        return False
    truth = formula.kind is not Kind.NOT
    atom = formula if truth else formula.args[0]
    if atom.kind is Kind.EQ and atom.args[0].sort is BOOL:
        for one, other in (atom.args, atom.args[::-1]):
            value = seen[other]
            if one.kind is Kind.VAR and value.low is not None and value.low == value.high:
                return _narrow(((1, one),), point(value.low if truth else 1 - value.low), env)
    return True


def _same(a: Expr, b: Expr, env: Env) -> bool:
    """Whether two terms are known to be equal; a bound that one of them may not have is taken off."""
    seen = spans([a, b], env)
    one, other = seen[a], seen[b]
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
    """Narrow the variables of a sum that is in an interval; False if it cannot be."""
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
    """The integers whose multiples are in an interval."""
    if factor < 0:
        interval, factor = interval.scaled(-1), -factor
    low = None if interval.low is None else -(-interval.low // factor)
    high = None if interval.high is None else interval.high // factor
    return None if low is not None and high is not None and low > high else Interval(low, high)

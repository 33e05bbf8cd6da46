"""Intervals of terms from those of their variables: integers, and formulas within 0 (false) and 1 (true)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final

from certus.core import build
from certus.core.sorts import BOOL, INT, Sort
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder
from certus.logic.intervals import ANY, Interval, point

TRUTH: Final = Interval(0, 1)


def is_measured(sort: Sort) -> bool:
    """Whether terms of the sort have intervals."""
    return sort is INT or sort is BOOL


def spans(terms: Iterable[Expr], env: Mapping[Expr, Interval]) -> dict[Expr, Interval]:
    """The intervals of terms and of all that is in them, as far as they are Int or Bool."""
    found: dict[Expr, Interval] = {}
    for term in postorder(*terms):
        if is_measured(term.sort):
            found[term] = _span(term, found, env)
    return found


def _span(term: Expr, seen: Mapping[Expr, Interval], env: Mapping[Expr, Interval]) -> Interval:
    if term.kind is Kind.CONST:
        return point(int(term.value))
    if term.kind is Kind.VAR:
        return env.get(term, TRUTH if term.sort is BOOL else ANY)
    if term.sort is BOOL:
        return _formula(term, seen)
    inside = [seen[a] for a in term.args if a in seen]
    if term.kind is Kind.ADD:
        return reduce(Interval.plus, inside)
    if term.kind is Kind.MUL:
        factor, base = build.monomial(term)
        if base in seen:
            return seen[base].scaled(int(factor))
        return reduce(Interval.times, inside)
    if term.kind is Kind.ITE:
        condition, one, other = inside
        return one.hull(other) if condition == TRUTH else one if condition.low else other
    if term.kind is Kind.MOD and inside[1].low is not None and inside[1].low > 0:
        high = inside[1].high
        return Interval(0, None if high is None else high - 1)
    return ANY


def _formula(term: Expr, seen: Mapping[Expr, Interval]) -> Interval:
    inside = [seen[a] for a in term.args if a in seen]
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

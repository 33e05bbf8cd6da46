"""Predicates in the fewest words that known ranges allow.

Where a variable is known to be 0 or 1, `x <= 0`, `x == 0` and `x == 1` divide the states alike, and
`x <= 1` does not divide them at all. Interpolants use all of these; one is enough, and each one less halves
the valuations that there may be. Only facts at the very location are relied on, and not at exits: all steps
to and from it know them (see `steps`), so other words that are true of the same states do as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from certus.core import build
from certus.core.evidence import Point
from certus.core.program import Location, Program
from certus.core.terms import Expr, Kind
from certus.engines.predicate.abstraction import Group
from certus.logic.intervals import Interval, bounds, conjuncts


class Ranged:
    """What is known of single variables at locations."""

    def __init__(self, program: Program, facts: Mapping[Point, Expr]) -> None:
        exits = {procedure.exit for procedure in program.procedures.values()}
        self._ranges = {
            point.location: bounds(conjuncts(fact))
            for point, fact in facts.items()
            if point.location not in exits
        }

    def spelled(self, location: Location, group: Group) -> Group:
        """The group in the words for a location; what all states there agree on is left out."""
        ranges = self._ranges.get(location)
        if ranges is None:
            return group
        said = (_narrowed(predicate, ranges) for predicate in group)
        return tuple(dict.fromkeys(p for p in said if p.kind is not Kind.CONST))


def _narrowed(predicate: Expr, ranges: Mapping[Expr, Interval]) -> Expr:
    """A predicate that divides the states within the ranges alike: a constant if it does not, an equation if
    one side has one value only."""
    for x, said in bounds((predicate,)).items():
        known = ranges.get(x)
        if known is None:
            continue
        inside = known.meet(said)
        if inside is None or inside == known:
            return build.boolean(inside is not None)
        for side in _sides(inside, known):
            if side.low is not None and side.low == side.high:
                return build.eq(x, build.constant(side.low, x.sort))
    return predicate


def _sides(inside: Interval, known: Interval) -> Iterator[Interval]:
    """What is inside and what is not, the lower values first; if it is in the middle, only what is inside."""
    if inside.low == known.low:
        yield inside
        assert inside.high is not None
        yield Interval(inside.high + 1, known.high)
    elif inside.high == known.high:
        assert inside.low is not None
        yield Interval(known.low, inside.low - 1)
        yield inside
    else:
        yield inside

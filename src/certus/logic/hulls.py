"""Constraints around sets of isl, for widening: hulls, their inequalities, bounds of sums and differences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import islpy as isl

SET = isl.dim_type.set


def inequalities(elements: isl.Set) -> Iterator[isl.Set]:
    """The constraints of a set one by one, equalities as two of them, without remainders."""
    for part in elements.remove_divs().get_basic_sets():
        for constraint in part.get_constraints():
            aff = constraint.get_aff()
            for half in (aff, aff.neg()) if constraint.is_equality() else (aff,):
                yield _not_negative(half)


def octagon(before: isl.Set, later: isl.Set) -> Iterator[isl.Set]:
    """The bounds of columns, of their sums and of their differences in `before` that hold in `later` too."""
    for direction in _directions(before.get_space()):
        bound = before.max_val(direction)
        if bound.is_int() and later.max_val(direction).le(bound):
            yield _not_negative(direction.neg().add_constant_val(bound))


def _directions(space: isl.Space) -> Iterator[isl.Aff]:
    local = isl.LocalSpace.from_space(space)
    columns = [isl.Aff.var_on_domain(local, SET, number) for number in range(space.dim(SET))]
    for column in columns:
        yield from (column, column.neg())
    for one, other in combinations(columns, 2):
        for sum_ in (one.add(other), one.sub(other)):
            yield from (sum_, sum_.neg())


def _not_negative(aff: isl.Aff) -> isl.Set:
    return isl.Set.from_basic_set(isl.BasicSet.from_constraint(isl.Constraint.inequality_from_aff(aff)))

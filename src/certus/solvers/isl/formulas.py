"""Turn isl sets into formulas over program variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from certus.core import build
from certus.core.terms import BOOL, Expr, MachineSort

IN, DIV = isl.dim_type.in_, isl.dim_type.div


def formula_of(elements: isl.Set, columns: Sequence[Expr]) -> Expr:
    """Return a set whose local variables are all divisions as a formula over its columns."""
    numbers = [_number(column) for column in columns]
    return build.disjunction(_conjunction(part, numbers) for part in elements.get_basic_sets())


def _number(column: Expr) -> Expr:
    if column.sort is BOOL:
        return build.ite(column, build.integer(1), build.integer(0))
    return build.to_int(column) if isinstance(column.sort, MachineSort) else column


def _conjunction(part: isl.BasicSet, columns: Sequence[Expr]) -> Expr:
    """Return the constraints of a disjunct, with integer divisions for its local variables."""
    divisions: list[Expr] = []
    for number in range(part.dim(DIV)):
        floor = part.get_div(number)
        denominator = floor.get_denominator_val()
        whole = _affine(floor.scale_val(denominator), columns, divisions)
        divisions.append(build.div(whole, build.integer(int(denominator.to_python()))))
    parts = []
    for constraint in part.get_constraints():
        more, less = _sides(constraint.get_aff(), columns, divisions)
        parts.append(build.eq(more, less) if constraint.is_equality() else build.ge(more, less))
    return build.conjunction(parts)


def _sides(aff: isl.Aff, columns: Sequence[Expr], divisions: Sequence[Expr]) -> tuple[Expr, Expr]:
    """Return two terms without negative coefficients of columns whose difference is the affine function."""
    more: list[Expr] = []
    less: list[Expr] = []
    for factor, term in _coefficients(aff, columns, divisions):
        (more if factor > 0 else less).append(build.scale(abs(factor), term))
    constant = int(aff.get_constant_val().to_python())
    if constant or not (more and less):
        if less and not more:
            more.append(build.integer(constant))
        else:
            less.append(build.integer(-constant))
    return _sum(more), _sum(less)


def _affine(aff: isl.Aff, columns: Sequence[Expr], divisions: Sequence[Expr]) -> Expr:
    """Return an affine function with integer coefficients as a term."""
    parts = [build.scale(factor, term) for factor, term in _coefficients(aff, columns, divisions)]
    return _sum([build.integer(int(aff.get_constant_val().to_python())), *parts])


def _coefficients(
    aff: isl.Aff, columns: Sequence[Expr], divisions: Sequence[Expr]
) -> Iterator[tuple[int, Expr]]:
    for kind, terms in ((IN, columns), (DIV, divisions)):
        for number, term in enumerate(terms[: aff.dim(kind)]):
            factor = int(aff.get_coefficient_val(kind, number).to_python())
            if factor:
                yield factor, term


def _sum(terms: Sequence[Expr]) -> Expr:
    if not terms:
        return build.integer(0)
    return build.add(*terms) if len(terms) > 1 else terms[0]

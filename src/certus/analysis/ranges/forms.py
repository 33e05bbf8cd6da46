"""Forms: terms as linear combinations of quantities over the integers."""

from __future__ import annotations

from dataclasses import dataclass

from certus.analysis.ranges.system import Terms
from certus.core.sorts import MachineSort, Sort


@dataclass(frozen=True, slots=True)
class Form:
    """`constant` + the terms over the integers, congruent to a value of `sort`. A form that is one quantity
    and belongs to variables kept as another sort has that as its `view`."""

    sort: Sort
    constant: int
    terms: Terms
    view: MachineSort | None = None

    def plus(self, other: Form, factor: int = 1) -> Form:
        coefficients = {quantity: c for c, quantity in self.terms}
        for c, quantity in other.terms:
            coefficients[quantity] = coefficients.get(quantity, 0) + factor * c
        terms = tuple((c, quantity) for quantity, c in coefficients.items() if c)
        return Form(self.sort, self.constant + factor * other.constant, terms)

    def times(self, factor: int) -> Form:
        if factor == 0:
            return Form(self.sort, 0, ())
        return Form(self.sort, factor * self.constant, tuple((factor * c, q) for c, q in self.terms))

    def of(self, sort: Sort) -> Form:
        return Form(sort, self.constant, self.terms)

    def seen_as(self, view: MachineSort | None) -> Form:
        """The same bits, if there is a view, as a number of it."""
        return self if view is None else self.of(view)

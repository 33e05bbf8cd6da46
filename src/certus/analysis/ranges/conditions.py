"""Solve conditions over linear forms for each of their variables (Zaks et al. 2006, section 3.3).

`x + 2 * y <= z` bounds x and y from above and z from below. If a side may wrap, nothing follows for the
variables in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.system import Bound, Terms, View
from certus.core.terms import Expr, Kind, Sort


@dataclass(frozen=True, slots=True)
class Form:
    """The linear form `constant` + the terms over the integers, congruent to a value of `sort`. A form that
    is one quantity of variables with signed views has the signed sort as its `view`. If the view is a
    `FloatOrder`, the form is the rank of the value, not congruent to it."""

    sort: Sort
    constant: int
    terms: Terms
    view: View | None = None

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

    def viewed_as(self, view: View | None) -> Form:
        """Return the same bits as a signed number, if that is the view."""
        return self if view is None or isinstance(view, FloatOrder) else self.of(view)


Side = tuple[Form, int]
Solved = dict[Expr, tuple[list[Bound], list[Bound], list[Bound]]]  # uppers, lowers, excluded values


class Comparison:
    """A comparison of two sides, each a form and its quantity; `names` are the variables by quantity."""

    def __init__(self, left: Side, right: Side, names: Mapping[int, Expr]) -> None:
        self.names, self.sides = names, (left, right)

    def at_most(self, *, strict: bool = False) -> Solved:
        """Solve left <= right, or left < right."""
        solved: Solved = {}
        for at, sign in ((0, 1), (1, -1)):
            for x, c, bound in self._solved(at):
                coefficient = sign * c
                shifted = _shifted(bound, -int(strict) if coefficient > 0 else int(strict))
                solved.setdefault(x, ([], [], []))[0 if coefficient > 0 else 1].append(shifted)
        return solved

    def equal(self) -> Solved:
        solved: Solved = {}
        for at in (0, 1):
            for x, _, bound in self._solved(at):
                uppers, lowers, _ = solved.setdefault(x, ([], [], []))
                uppers.append(bound)
                lowers.append(bound)
        return solved

    def different(self) -> Solved:
        solved: Solved = {}
        for at in (0, 1):
            for x, _, bound in self._solved(at):
                solved.setdefault(x, ([], [], []))[2].append(bound)
        return solved

    def _solved(self, at: int) -> Iterator[tuple[Expr, int, Bound]]:
        """Yield for each variable x of one side, with coefficient c, the value of x at which both sides are
        equal, as a bound. Its divisor is positive: numerator and coefficient are multiplied by c's sign."""
        form, own = self.sides[at]
        other = self.sides[1 - at][1]
        compound = (
            len(form.terms) > 1 or form.constant != 0 or form.terms[0][1] != own if form.terms else False
        )
        for c, quantity in form.terms:
            x = self.names.get(quantity)
            if x is None:
                continue
            sign = 1 if c > 0 else -1
            rest: dict[int, int] = {other: sign}
            for k, each in form.terms:
                if each != quantity:
                    rest[each] = rest.get(each, 0) - sign * k
            terms = tuple((k, each) for each, k in rest.items() if k)
            bound = Bound(-sign * form.constant, terms, abs(c), own if compound else None)
            yield x, c, bound


def _shifted(bound: Bound, by: int) -> Bound:
    return Bound(bound.constant + by, bound.terms, bound.divisor, bound.unless) if by else bound


def literals(condition: Expr, *, positive: bool = True) -> Iterator[tuple[Expr, bool]]:
    """Yield the conjuncts of a condition, each with whether it must be true or false."""
    stack = [(condition, positive)]
    while stack:
        term, sign = stack.pop()
        if term.kind is Kind.NOT:
            stack.append((term.args[0], not sign))
        elif term.kind is (Kind.AND if sign else Kind.OR):
            stack.extend((a, sign) for a in reversed(term.args))
        else:
            yield term, sign


def fixed_choice(literal: Expr) -> tuple[Expr, bool | None] | None:
    """Return for `(c ? a : b) == k` c and whether it must be true (None: neither a nor b is k)."""
    for choice, value in (literal.args, literal.args[::-1]):
        if choice.kind is Kind.ITE and value.kind is Kind.CONST:
            condition, then, otherwise = choice.args
            if then.kind is Kind.CONST and otherwise.kind is Kind.CONST and then is not otherwise:
                return condition, True if then is value else False if otherwise is value else None
    return None

"""Conditions: their literals, and comparisons solved for each of their variables (seed 002, section 3.3).

`x + 2 * y <= z` bounds x and y from above and z from below. If a side may wrap, nothing follows for the
variables in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from certus.analysis.ranges.forms import Form
from certus.analysis.ranges.system import Bound
from certus.core.terms import Expr, Kind

Side = tuple[Form, int]
Solved = dict[Expr, tuple[list[Bound], list[Bound], list[Bound]]]  # uppers, lowers, excluded values


class Comparison:
    """A comparison of two sides, each a form and the quantity that it is, solved for the variables (by
    quantity: `names`) that occur in them."""

    def __init__(self, left: Side, right: Side, names: Mapping[int, Expr]) -> None:
        self.names, self.sides = names, (left, right)

    def at_most(self, *, strict: bool = False) -> Solved:
        """left <= right, or left < right."""
        found: Solved = {}
        for at, sign in ((0, 1), (1, -1)):
            for x, c, bound in self._solved(at):
                coefficient = sign * c
                shifted = _shifted(bound, -int(strict) if coefficient > 0 else int(strict))
                found.setdefault(x, ([], [], []))[0 if coefficient > 0 else 1].append(shifted)
        return found

    def equal(self) -> Solved:
        found: Solved = {}
        for at in (0, 1):
            for x, _, bound in self._solved(at):
                uppers, lowers, _ = found.setdefault(x, ([], [], []))
                uppers.append(bound)
                lowers.append(bound)
        return found

    def different(self) -> Solved:
        found: Solved = {}
        for at in (0, 1):
            for x, _, bound in self._solved(at):
                found.setdefault(x, ([], [], []))[2].append(bound)
        return found

    def _solved(self, at: int) -> Iterator[tuple[Expr, int, Bound]]:
        """For each variable x of one side, with coefficient c: the value of x at which both sides are equal,
        as a bound. Its divisor is positive: numerator and coefficient have been multiplied by c's sign."""
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
    """The conjuncts of a condition, each with whether it must be true or false."""
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
    """`(c ? a : b) == k` with constants: c and whether it must be true; None if neither a nor b is k."""
    for choice, value in (literal.args, literal.args[::-1]):
        if choice.kind is Kind.ITE and value.kind is Kind.CONST:
            condition, then, otherwise = choice.args
            if then.kind is Kind.CONST and otherwise.kind is Kind.CONST and then is not otherwise:
                return condition, True if then is value else False if otherwise is value else None
    return None

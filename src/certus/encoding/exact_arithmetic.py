"""Compute Int terms in machine integers that are wide enough, so that nothing wraps.

`encoding.address_terms` computes addresses modulo 2**bits. That is exact for addresses of objects, and wrong
for a question about an arbitrary address: `p + (1 << 62) * 4` is `p` again. Here the bounds of a term follow
from the sorts of the machine integers in it, and the term is computed in a sort that holds every value within
them: signed integers of the pointers' width, of twice that width, or Int if nothing else is certain.
"""

from __future__ import annotations

from certus.core import build
from certus.core.terms import INT, Expr, Kind, MachineSort, Sort, machine
from certus.core.walk import completed
from certus.encoding.address_terms import AddressTerms

Bounds = tuple[int, int]


class ExactArithmetic:
    """Exact values of the Int terms of one program, over the variables that replace addresses."""

    def __init__(self, terms: AddressTerms, address: MachineSort) -> None:
        self._terms = terms
        self._address = address
        self._bounds: dict[Expr, Bounds | None] = {}
        self._values: dict[Sort, dict[Expr, Expr]] = {}

    def bounds(self, term: Expr) -> Bounds | None:
        """Return the least and the greatest value that an Int term can have; None if there are none."""
        return completed(term, self._bounds, self._new_bounds)

    def _new_bounds(self, term: Expr) -> Bounds | None:
        if term.sort is not INT:
            return None
        kind, args = term.kind, term.args
        if self._terms.variable(term) is not term:
            return self._address.low, self._address.high
        if kind is Kind.CONST:
            return int(term.value), int(term.value)
        if kind is Kind.TO_INT:
            sort = args[0].sort
            return (sort.low, sort.high) if isinstance(sort, MachineSort) else None
        parts = [self._bounds[a] for a in (args[1:] if kind is Kind.ITE else args)]
        known = [part for part in parts if part is not None]
        if kind not in (Kind.ADD, Kind.MUL, Kind.ITE) or len(known) != len(parts):
            return None
        low, high = known[0]
        for least, most in known[1:]:
            if kind is Kind.ADD:
                low, high = low + least, high + most
            elif kind is Kind.MUL:
                corners = [x * y for x in (low, high) for y in (least, most)]
                low, high = min(corners), max(corners)
            else:
                low, high = min(low, least), max(high, most)
        return low, high

    def sort(self, *bounds: Bounds | None) -> Sort:
        """Return a sort that holds the sum of values within these bounds."""
        known = [each for each in bounds if each is not None]
        if len(known) != len(bounds):
            return INT
        low, high = sum(least for least, _ in known), sum(most for _, most in known)
        for width in (self._address.width, 2 * self._address.width):
            sort = machine(width, signed=True)
            if sort.low <= low and high <= sort.high:
                return sort
        return INT

    def value(self, term: Expr, sort: Sort) -> Expr:
        """Return an Int term computed in a sort that holds its bounds (`sort`)."""
        if not isinstance(sort, MachineSort):
            return self._terms.plain(term)
        chosen = sort
        return completed(term, self._values.setdefault(sort, {}), lambda each: self._new_value(each, chosen))

    def _new_value(self, term: Expr, sort: MachineSort) -> Expr:
        if term.sort is not INT:
            return term
        values, kind, args = self._values[sort], term.kind, term.args
        variable = self._terms.variable(term)
        if variable is not term:
            return build.wrap(variable, sort)
        if kind is Kind.CONST:
            return build.wrap(term, sort)
        if kind is Kind.TO_INT:
            return build.wrap(self._terms.plain(args[0]), sort)
        if kind is Kind.ADD:
            return build.add(*(values[a] for a in args))
        if kind is Kind.MUL:
            product = values[args[0]]
            for factor in args[1:]:
                product = build.mul(product, values[factor])
            return product
        if kind is Kind.ITE:
            return build.ite(self._terms.plain(args[0]), values[args[1]], values[args[2]])
        return build.wrap(self._terms.plain(term), sort)


def converted(value: Expr, sort: Sort) -> Expr:
    """Return a machine integer in a sort that holds its values."""
    return build.wrap(value, sort) if isinstance(sort, MachineSort) else build.to_int(value)

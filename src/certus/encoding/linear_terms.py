"""Tell which terms over Int, Real and Bool are linear, and which parts of the others are not.

Linear are sums, products with a constant, comparisons, Boolean connectives, conditional terms, integers as
reals, and division by a constant other than 0. A subterm with any other operator is *opaque*.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from certus.core import build
from certus.core.terms import BOOL, INT, REAL, Expr, Kind, Sort
from certus.core.walk import postorder, rebuild

_LINEAR: Final = {
    Kind.CONST, Kind.NOT, Kind.AND, Kind.OR, Kind.ITE, Kind.EQ, Kind.LE, Kind.LT, Kind.ADD, Kind.TO_REAL,
}  # fmt: skip
INTEGERS: Final = (BOOL, INT)
REALS: Final = (BOOL, INT, REAL)
_BY_CONSTANT: Final = {Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD}
_PARTS: Final = 64  # most parts of a product that is multiplied out, and most writes that are read through


def is_linear_operator(term: Expr, sorts: Collection[Sort] = INTEGERS) -> bool:
    """Tell whether the operator of `term` is linear, over numbers of these sorts."""
    if term.kind in _LINEAR:
        return all(a.sort in sorts for a in (term, *term.args))
    if term.kind is Kind.MUL:
        return term.args[0].kind is Kind.CONST and term.sort in sorts
    if term.kind in _BY_CONSTANT and term.sort is INT:
        return term.args[1].kind is Kind.CONST and term.args[1].value != 0
    return False


def linear_operands(term: Expr) -> tuple[Expr, ...]:
    """Return the operands of a linear operator; of a product with a constant the other factors together."""
    if term.kind is Kind.MUL and len(term.args) > 2:
        return (build.monomial(term)[1],)
    return term.args


def opaque_terms(
    parts: Sequence[Expr], columns: Collection[Expr], sorts: Collection[Sort] = INTEGERS
) -> tuple[Expr, ...]:
    """Return the largest subterms of `parts`, other than `columns`, whose operator is not linear."""
    opaque: dict[Expr, None] = {}
    seen = set(columns)
    stack = list(reversed(parts))
    while stack:
        term = stack.pop()
        if term in seen:
            continue
        seen.add(term)
        if is_linear_operator(term, sorts):
            stack.extend(reversed(linear_operands(term)))
        else:
            opaque[term] = None
    return tuple(opaque)


def normal_form(roots: Sequence[Expr]) -> tuple[Expr, ...]:
    """Multiply out products of sums and conditional terms, and read through writes to arrays, so that equal
    products and elements become equal terms."""
    done: dict[Expr, Expr] = {}
    for term in postorder(*roots):
        args = [done[a] for a in term.args]
        if term.kind is Kind.MUL and term.sort is INT:
            product = args[0]
            for factor in args[1:]:
                product = _product(product, factor)
            done[term] = product
        elif term.kind is Kind.SELECT:
            done[term] = _element(args[0], args[1])
        else:
            done[term] = rebuild(term, args) if args else term
    return tuple(done[root] for root in roots)


def _product(a: Expr, b: Expr) -> Expr:
    """Multiply out; a product with too many parts stays as it is."""
    if _size(a) * _size(b) > _PARTS:
        return build.mul(a, b)
    for one, other in ((a, b), (b, a)):
        if one.kind is Kind.ITE:
            condition, then, otherwise = one.args
            return build.ite(condition, _product(then, other), _product(otherwise, other))
        if one.kind is Kind.ADD:
            return build.add(*(_product(part, other) for part in one.args))
    return build.mul(a, b)


def _size(term: Expr) -> int:
    """Return the number of summands and alternatives of a term, or a larger number than `_PARTS`."""
    size, stack = 0, [term]
    while stack and size <= _PARTS:
        part = stack.pop()
        if part.kind is Kind.ADD or part.kind is Kind.ITE:
            stack.extend(part.args[1:] if part.kind is Kind.ITE else part.args)
        else:
            size += 1
    return size


def _element(array: Expr, index: Expr) -> Expr:
    """Return an element of an array, through the last writes."""
    writes: list[tuple[Expr, Expr]] = []
    while array.kind is Kind.STORE and len(writes) < _PARTS:
        array, written, value = array.args
        writes.append((build.eq(written, index), value))
    element = build.select(array, index)
    for condition, value in reversed(writes):
        element = build.ite(condition, value, element)
    return element

"""Evaluate formulas of linear integer arithmetic where some variables are polynomials in an infinite number.

The infinite number w is a hyperinteger that every standard integer divides. The coefficients of a polynomial
in w are real, but the constant term of an integer is an integer. Polynomials are compared at the highest
power where their coefficients differ. A division by a standard integer is exact for all powers of w.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from certus.core import build
from certus.core.terms import INT, Expr, Kind
from certus.core.walk import completed, rebuild

Polynomial = Mapping[int, Expr]  # coefficients by the power of w; for a formula itself, without w
COMPARISONS: Final = {Kind.EQ: build.eq, Kind.LE: build.le, Kind.LT: build.lt}


def at_infinity(formula: Expr, meaning: Mapping[Expr, Polynomial]) -> Expr:
    """Return an equivalent formula without w; `meaning` has the polynomials that variables stand for."""
    done: dict[Expr, Polynomial] = dict(meaning)
    return completed(formula, done, lambda term: _polynomial(term, [done[a] for a in term.args]))[0]


def _polynomial(term: Expr, args: Sequence[Polynomial]) -> Polynomial:
    """Return the polynomial of a term, given those of its arguments."""
    kind = term.kind
    if all(set(a) <= {0} for a in args):
        return {0: rebuild(term, [_coefficient(a, 0) for a in args])} if args else {0: term}
    if kind in COMPARISONS:
        return {0: _compared(kind, args[0], args[1])}
    if kind is Kind.ADD:
        return {n: build.add(*(_coefficient(a, n) for a in args if n in a)) for n in _powers(*args)}
    if kind is Kind.MUL:
        return reduce(_multiplied, args)
    if kind is Kind.ITE:
        then, otherwise = args[1:]
        return {
            n: build.ite(args[0][0], _coefficient(then, n), _coefficient(otherwise, n))
            for n in _powers(then, otherwise)
        }
    assert kind is Kind.DIV, f"the formulas of `linear` have no {kind} of reals"
    return _divided(args[0], args[1])


def _coefficient(number: Polynomial, power: int) -> Expr:
    if power in number:
        return number[power]
    return build.real(0) if power else build.integer(0)


def _powers(*numbers: Polynomial) -> list[int]:
    """Return the powers of w in some numbers, the highest first."""
    return sorted({n for number in numbers for n in number}, reverse=True)


def _compared(kind: Kind, a: Polynomial, b: Polynomial) -> Expr:
    """Compare two polynomials at the highest power where their coefficients differ."""
    powers = _powers(a, b)
    pairs = [(_coefficient(a, n), _coefficient(b, n)) for n in powers]
    if kind is Kind.EQ:
        return build.conjunction(build.eq(x, y) for x, y in pairs)
    result = COMPARISONS[kind](*pairs[-1])
    for x, y in reversed(pairs[:-1]):
        less, equal = build.lt(x, y), build.eq(x, y)
        result = build.le(x, y) if result is build.TRUE else build.or_(less, build.and_(equal, result))
    return result


def _multiplied(a: Polynomial, b: Polynomial) -> Polynomial:
    product: dict[int, Expr] = {}
    for n, x in a.items():
        for m, y in b.items():
            part = build.mul(x, y) if n + m == 0 else build.mul(_real(x), _real(y))
            product[n + m] = build.add(product[n + m], part) if n + m in product else part
    return product


def _divided(a: Polynomial, b: Polynomial) -> Polynomial:
    """Divide by a constant, or by a multiple of one power of w that is below those of the dividend."""
    ((power, by),) = b.items()
    quotient = {n - power: build.rdiv(_real(x), _real(by)) for n, x in a.items() if n > power}
    rest = build.div(_coefficient(a, 0), by) if power == 0 else build.integer(0)
    return quotient if rest == build.integer(0) else {**quotient, 0: rest}


def _real(term: Expr) -> Expr:
    return build.to_real(term) if term.sort is INT else term

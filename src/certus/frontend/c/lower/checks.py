"""Arithmetic on integers as terms, with the checks that the property asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.sorts import MachineSort, machine
from certus.core.terms import Expr, Kind
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.evaluation import Evaluation
from certus.frontend.c.lower.values import to_sort

_PLAIN: Final[dict[str, Callable[[Expr, Expr], Expr]]] = {
    "+": build.add,
    "-": build.sub,
    "*": build.mul,
    "/": build.quot,
    "%": build.rem,
    "&": build.bit_and,
    "|": build.bit_or,
    "^": build.bit_xor,
}


def arithmetic(body: Body, operator: str, a: Expr, b: Expr, span: Span) -> Expr:
    """`a operator b`, checked. Both have one sort, but for shifts, whose amount has its own."""
    sort = a.sort
    assert isinstance(sort, MachineSort)
    kind = body.world.errors.kind
    if operator in ("<<", ">>"):
        return _shift(body, operator, a, b, span)
    if body.evaluation is not None:
        _require_defined(body.evaluation, operator, a, b)
    if operator in "/%" and kind == "no-div-zero":
        claim = build.ne(b, build.constant(0, sort))
        body.claim(claim, "division-by-zero", span, f"the divisor of {body.text(span)} is not 0")
    if kind == "no-overflow" and sort.signed:
        body.claim(_fits(operator, a, b, sort), "overflow", span, f"{body.text(span)} does not overflow")
    return _PLAIN[operator](a, b)


def _require_defined(evaluation: Evaluation, operator: str, a: Expr, b: Expr) -> None:
    """No division by zero, and no overflow of signed numbers."""
    sort = a.sort
    assert isinstance(sort, MachineSort)
    if operator in "/%":
        evaluation.require(build.ne(b, build.constant(0, sort)))
    if sort.signed and not (operator in "+-*" and evaluation.fits(operator, a, b, _PLAIN[operator](a, b))):
        evaluation.require(_fits(operator, a, b, sort))


def _require_possible_shift(evaluation: Evaluation, operator: str, a: Expr, b: Expr) -> None:
    """The amount is less than the width; what is shifted to the left, if signed, fits as an exact product."""
    sort, own = a.sort, b.sort
    assert isinstance(sort, MachineSort)
    assert isinstance(own, MachineSort)
    evaluation.require(build.le(build.constant(0, own), b))
    if own.high >= sort.width:
        evaluation.require(build.lt(b, build.constant(sort.width, own)))
    if operator == "<<" and sort.signed:
        evaluation.require(_fits_shifted(a, _amount(b, sort), sort))


def _fits_shifted(a: Expr, amount: Expr, sort: MachineSort) -> Expr:
    zero, width = build.constant(0, sort), build.constant(sort.width, sort)
    possible = build.and_(build.le(zero, amount), build.lt(amount, width), build.le(zero, a))
    fits = build.le(a, build.shr(build.constant(sort.high, sort), amount))
    return build.and_(possible, fits)


def _fits(operator: str, a: Expr, b: Expr, sort: MachineSort) -> Expr:
    """The exact result is a value of the sort."""
    if operator in "+-*":
        wide = machine(2 * sort.width if operator == "*" else sort.width + 1, signed=True)
        exact = _PLAIN[operator](build.wrap(a, wide), build.wrap(b, wide))
        low, high = build.constant(sort.low, wide), build.constant(sort.high, wide)
        return build.and_(build.le(low, exact), build.le(exact, high))
    if operator in "/%":
        least, minus = build.constant(sort.low, sort), build.constant(-1, sort)
        return build.not_(build.and_(build.eq(a, least), build.eq(b, minus)))
    return build.TRUE


def negated(body: Body, a: Expr, span: Span) -> Expr:
    sort = a.sort
    assert isinstance(sort, MachineSort)
    if body.evaluation is not None and sort.signed:
        body.evaluation.require(build.ne(a, build.constant(sort.low, sort)))
    if body.world.errors.kind == "no-overflow" and sort.signed:
        claim = build.ne(a, build.constant(sort.low, sort))
        body.claim(claim, "overflow", span, f"{body.text(span)} does not overflow")
    return build.neg(a)


def _shift(body: Body, operator: str, a: Expr, b: Expr, span: Span) -> Expr:
    sort = a.sort
    assert isinstance(sort, MachineSort)
    amount = _amount(b, sort)
    if body.evaluation is not None:
        _require_possible_shift(body.evaluation, operator, a, b)
    if operator == ">>":
        return build.shr(a, amount)
    if body.world.errors.kind == "no-overflow" and sort.signed:
        claim = _fits_shifted(a, amount, sort)
        body.claim(claim, "overflow", span, f"{body.text(span)} does not overflow")
    return build.shl(a, amount)


def _amount(b: Expr, sort: MachineSort) -> Expr:
    """The amount of a shift in the sort of the shifted value; what is too large stays too large."""
    own = b.sort
    assert isinstance(own, MachineSort)
    if own.width <= sort.width or b.kind is Kind.CONST:
        if b.kind is Kind.CONST and not 0 <= int(b.value) < sort.width:
            return build.constant(sort.width, sort) if sort.high >= sort.width else build.constant(-1, sort)
        return to_sort(b, sort)
    valid = build.and_(build.le(build.constant(0, own), b), build.lt(b, build.constant(sort.width, own)))
    return build.ite(valid, build.wrap(b, sort), build.constant(sort.width, sort))

"""Walks: order, substitution and instantiation."""

from __future__ import annotations

from certus.core import build as b
from certus.core.terms import BOOL, INT, Expr, Function, Kind, machine
from certus.core.values import evaluate
from certus.core.walk import (
    Substitution,
    instantiate,
    postorder,
    rebuild,
    size,
    substitute,
    substitute_all,
    transform,
    variables,
)

X, Y, Z = (b.var(n, INT) for n in "xyz")
P = b.var("p", BOOL)


def test_arguments_come_first_and_each_term_once() -> None:
    shared = b.add(X, Y)
    term = b.le(b.mul(shared, Z), shared)
    order = list(postorder(term, shared))
    assert len(order) == len(set(order)) == size(term) == 6
    for position, part in enumerate(order):
        assert all(a in order[:position] for a in part.args)


def test_variables_in_order_of_occurrence() -> None:
    assert variables(b.ite(P, b.quot(Z, X), b.quot(X, Y))) == (P, Z, X, Y)


def test_substitution_is_parallel() -> None:
    assert substitute(b.quot(X, Y), {X: Y, Y: X}) is b.quot(Y, X)
    assert substitute_all((X, Y), {X: Y, Y: X}) == (Y, X)
    assert substitute(X, {}) is X


def test_a_substitution_remembers_and_simplifies() -> None:
    zero = Substitution({X: b.integer(0)})
    term = b.and_(P, b.le(X, b.integer(3)))
    assert zero.apply(term) is P
    assert zero.apply_all((term, X)) == (P, b.integer(0))


def test_rebuilding_with_the_same_arguments_gives_the_term() -> None:
    term = b.scale(3, b.mul(b.add(X, Y), Z))
    assert rebuild(term, list(term.args)) is term


def test_a_product_with_a_sum_keeps_its_form_when_renamed() -> None:
    """The constant factor of a product is not distributed over a sum among the other factors."""
    term = b.scale(3, b.mul(b.add(X, Y), Z))
    there = {X: b.var("x1", INT), Y: b.var("y1", INT)}
    back = {new: old for old, new in there.items()}
    assert substitute(substitute(term, there), back) is term


def test_transform_works_from_the_leaves_up() -> None:
    def double(term: Expr, args: tuple[Expr, ...]) -> Expr:
        return b.integer(2 * int(term.value)) if term.kind is Kind.CONST else rebuild(term, args)

    assert transform(b.quot(X, b.add(Y, b.integer(4))), double) is b.quot(X, b.add(Y, b.integer(8)))


class TestInstantiate:
    def test_the_last_variable_has_index_zero(self) -> None:
        u8 = machine(8, signed=False)
        a = b.var("a", u8)
        body = b.and_(b.le(b.bound(1, INT), X), b.eq(b.bound(0, u8), a))
        seven = b.constant(7, u8)
        assert instantiate(b.forall((INT, u8), body), (Y, seven)) is b.and_(b.le(Y, X), b.eq(seven, a))

    def test_under_an_inner_quantifier(self) -> None:
        inner = b.exists((INT,), b.lt(b.bound(0, INT), b.bound(1, INT)))
        term = instantiate(b.forall((INT,), inner), (X,))
        assert term is b.exists((INT,), b.lt(b.bound(0, INT), X))
        assert instantiate(term, (Y,)) is b.lt(Y, X)

    def test_variables_of_outer_quantifiers_move_closer(self) -> None:
        body = b.lt(b.bound(0, INT), b.bound(2, INT))
        assert instantiate(b.forall((INT,), body), (X,)) is b.lt(X, b.bound(1, INT))


def test_applications_are_rebuilt() -> None:
    f = Function("f", (INT,), INT)
    term = substitute(b.apply(f, (X,)), {X: b.integer(2)})
    assert evaluate(term, {}, {f: lambda n: n + 1}) == 3

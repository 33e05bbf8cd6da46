"""Terms as C-like text."""

from __future__ import annotations

from fractions import Fraction

import pytest

from certus.core import build as b
from certus.core.c_text import c_text, sort_text
from certus.core.terms import BOOL, INT, REAL, Expr, Function, array, machine

U8, I16 = machine(8, signed=False), machine(16, signed=True)
X, Y, Z = (b.var(n, INT) for n in "xyz")
P, Q = b.var("p", BOOL), b.var("q", BOOL)
A, C = b.var("a", U8), b.var("c", U8)
R = b.var("r", REAL)
M = b.var("m", array(INT, BOOL))
ONE, THREE = b.integer(1), b.integer(3)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (b.TRUE, "true"),
        (b.integer(-3), "-3"),
        (b.real(Fraction(-1, 2)), "-1/2"),
        (b.sub(X, Y), "x - y"),
        (b.sub(ONE, X), "1 - x"),
        (b.add(b.scale(-2, X), b.integer(-3)), "-2 * x - 3"),
        (b.add(Z, X, Y), "x + y + z"),
        (b.scale(-1, X), "-x"),
        (b.mul(b.add(X, ONE), Y), "(x + 1) * y"),
        (b.scale(Fraction(1, 2), R), "1/2 * r"),
        (b.le(THREE, X), "x >= 3"),
        (b.lt(THREE, X), "x > 3"),
        (b.le(X, THREE), "x <= 3"),
        (b.not_(b.le(THREE, X)), "x < 3"),
        (b.not_(b.le(X, Y)), "x > y"),
        (b.not_(b.lt(X, Y)), "x >= y"),
        (b.eq(THREE, X), "x == 3"),
        (b.ne(THREE, X), "x != 3"),
        (b.eq(Y, X), "x == y"),
        (b.eq(b.add(X, Y), Z), "z == x + y"),
        (b.eq(P, b.le(X, THREE)), "p == (x <= 3)"),
        (b.not_(P), "!p"),
        (b.not_(b.and_(P, b.FALSE)), "true"),
        (b.ite(P, X, b.ite(Q, Y, Z)), "p ? x : q ? y : z"),
        (b.add(b.ite(P, X, Y), ONE), "(p ? x : y) + 1"),
        (b.quot(X, b.sub(Y, Z)), "x / (y - z)"),
        (b.rem(b.quot(X, Y), Z), "x / y % z"),
        (b.quot(X, b.rem(Y, Z)), "x / (y % z)"),
        (b.div(X, Y), "div(x, y)"),
        (b.mod(X, b.add(Y, ONE)), "mod(x, y + 1)"),
        (b.rdiv(R, R), "r / r"),
        (b.floor(R), "floor(r)"),
        (b.to_real(X), "(real)x"),
        (b.sub(A, b.sub(C, A)), "a - (c - a)"),
        (b.sub(b.sub(A, C), A), "a - c - a"),
        (b.add(A, b.constant(3, U8)), "a + 3"),
        (b.mul(A, b.constant(3, U8)), "3 * a"),
        (b.neg(b.bit_not(A)), "-(~a)"),
        (b.eq(b.bit_and(A, b.constant(1, U8)), b.constant(0, U8)), "(a & 1) == 0"),
        (b.shl(A, b.add(C, b.constant(1, U8))), "a << c + 1"),
        (b.wrap(A, I16), "(i16)a"),
        (b.to_int(b.shr(A, C)), "(integer)(a >> c)"),
        (b.select(M, b.add(X, ONE)), "m[x + 1]"),
        (b.store(M, X, b.le(X, Y)), "m[x := x <= y]"),
        (b.select(b.store(M, X, P), Y), "m[x := p][y]"),
        (b.const_array(INT, P), "{else: p}"),
        (b.apply(Function("f", (INT, BOOL), INT), (b.add(X, ONE), P)), "f(x + 1, p)"),
        (b.apply(Function("k", (), INT), ()), "k()"),
    ],
    ids=str,
)
def test_texts(term: Expr, text: str) -> None:
    assert c_text(term) == text
    assert repr(term) == text


def test_connectives() -> None:
    one_of, both = b.or_(P, Q), b.and_(P, Q)
    assert c_text(one_of) in ("p || q", "q || p")
    assert c_text(b.and_(one_of, b.le(X, Y))) in (
        f"({c_text(one_of)}) && x <= y",
        f"x <= y && ({c_text(one_of)})",
    )
    assert c_text(b.or_(both, b.le(X, Y))) in (f"{c_text(both)} || x <= y", f"x <= y || {c_text(both)}")
    assert c_text(b.not_(both)) == f"!({c_text(both)})"


class TestQuantifiers:
    def test_variables_have_sorts_and_names_of_their_own(self) -> None:
        body = b.lt(b.bound(1, INT), b.select(b.var("a", array(U8, INT)), b.bound(0, U8)))
        assert c_text(b.forall((INT, U8), body)) == "forall integer i, u8 j: i < a[j]"

    def test_free_variables_keep_their_names(self) -> None:
        body = b.lt(b.bound(0, INT), b.var("i", INT))
        assert c_text(b.exists((INT,), body)) == "exists integer j: j < i"
        assert c_text(b.exists((INT,), b.lt(b.bound(0, INT), X)), names={X: "i"}) == "exists integer j: j < i"

    def test_nested(self) -> None:
        inner = b.exists((INT,), b.lt(b.bound(1, INT), b.bound(0, INT)))
        assert c_text(b.forall((INT,), inner)) == "forall integer i: exists integer j: i < j"
        assert c_text(b.not_(b.forall((INT,), inner))) == "!(forall integer i: exists integer j: i < j)"

    def test_a_variable_outside_its_quantifier(self) -> None:
        assert c_text(b.lt(b.bound(0, INT), X)) == "#0 < x"
        assert c_text(b.exists((INT,), b.lt(b.bound(1, INT), X))) == "exists integer i: #0 < x"


def test_names_replace_variables() -> None:
    assert c_text(b.sub(X, Y), names={X: "width", Y: "height"}) == "width - height"


def test_the_limit_cuts() -> None:
    assert c_text(b.le(X, THREE), limit=6) == "x <= 3"
    assert c_text(b.le(X, THREE), limit=5) == "x ..."


def test_sorts() -> None:
    assert [sort_text(s) for s in (INT, BOOL, REAL, I16, array(INT, array(U8, BOOL)))] == [
        "integer",
        "bool",
        "real",
        "i16",
        "bool[integer][u8]",
    ]

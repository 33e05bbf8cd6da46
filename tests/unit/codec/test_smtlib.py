"""SMT-LIB text. How solvers read it is tested with the solvers (`unit/solvers`)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from certus.codec.smtlib import script, sort_text, symbol
from certus.core import build as b
from certus.core.terms import BOOL, INT, REAL, Expr, Function, array, machine

U8, I8, U16, I16 = (machine(w, signed=s) for w, s in ((8, False), (8, True), (16, False), (16, True)))
X, Y, P = b.var("x", INT), b.var("y", INT), b.var("p", BOOL)
A, C = b.var("a", U8), b.var("c", U8)
S, T = b.var("s", I8), b.var("t", I8)
R = b.var("r", REAL)
M = b.var("m", array(INT, BOOL))


def lines(*formulas: Expr) -> list[str]:
    """The script without its frame and declarations of constants."""
    return [
        line
        for line in script(formulas).splitlines()
        if not line.startswith(("(set-", "(check-sat)", "(declare-const"))
    ]


def text(term: Expr) -> str:
    """The text of one term that needs no definition."""
    other = b.var("zz", term.sort)
    (line,) = lines(b.and_(P, b.eq(term, other)))
    inside = line.removeprefix("(assert (and ").removesuffix("))").replace("p ", "", 1).removesuffix(" p")
    parts = inside.removeprefix("(= ").removesuffix(")")
    return parts.removeprefix("zz ").removesuffix(" zz")


def test_a_whole_script() -> None:
    assert script([P, b.le(X, b.integer(-3))], logic="QF_LIA", comment="two\n\nlines") == (
        "; two\n;\n; lines\n"
        "(set-info :smt-lib-version 2.6)\n"
        "(set-logic QF_LIA)\n"
        "(declare-const p Bool)\n"
        "(declare-const x Int)\n"
        "(assert p)\n"
        "(assert (<= x (- 3)))\n"
        "(check-sat)\n"
    )


def test_nothing_asserted() -> None:
    assert script([]) == "(set-info :smt-lib-version 2.6)\n(set-logic ALL)\n(check-sat)\n"


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (b.add(X, b.integer(-1)), "(+ x (- 1))"),
        (b.real(Fraction(-1, 3)), "(- (/ 1.0 3.0))"),
        (b.real(2), "2.0"),
        (b.integer(10**5000), "1" + "0" * 5000),
        (b.constant(-1, I8), "(_ bv255 8)"),
        (b.constant(200, U8), "(_ bv200 8)"),
        (b.mod(X, Y), "(mod x y)"),
        (b.to_real(X), "(to_real x)"),
        (b.floor(R), "(to_int r)"),
        (b.rdiv(R, R), "(/ r r)"),
        (b.neg(A), "(bvneg a)"),
        (b.bit_not(S), "(bvnot s)"),
        (b.sub(A, C), "(bvsub a c)"),
        (b.quot(A, b.constant(3, U8)), "(bvudiv a (_ bv3 8))"),
        (b.quot(S, b.constant(-3, I8)), "(bvsdiv s (_ bv253 8))"),
        (b.rem(A, b.constant(3, U8)), "(bvurem a (_ bv3 8))"),
        (b.rem(S, b.constant(3, I8)), "(bvsrem s (_ bv3 8))"),
        (b.shl(S, b.constant(7, I8)), "(bvshl s (_ bv7 8))"),
        (b.shr(S, b.constant(1, I8)), "(bvashr s (_ bv1 8))"),
        (b.shr(A, b.constant(1, U8)), "(bvlshr a (_ bv1 8))"),
        (b.wrap(X, U8), "((_ int_to_bv 8) x)"),
        (b.wrap(A, I8), "a"),
        (b.wrap(A, I16), "((_ zero_extend 8) a)"),
        (b.wrap(S, U16), "((_ sign_extend 8) s)"),
        (b.wrap(b.var("w", I16), U8), "((_ extract 7 0) w)"),
        (b.to_int(A), "(ubv_to_int a)"),
        (b.to_int(S), "(sbv_to_int s)"),
        (b.select(M, X), "(select m x)"),
        (b.store(M, X, P), "(store m x p)"),
        (b.const_array(INT, b.integer(0)), "((as const (Array Int Int)) 0)"),
        (b.apply(Function("f", (), INT), ()), "f"),
    ],
    ids=lambda x: str(x)[:40],
)
def test_texts(term: Expr, expected: str) -> None:
    if term.kind.name == "APPLY":
        assert lines(b.lt(term, X)) == ["(declare-fun f () Int)", "(assert (< f x))"]
    else:
        assert text(term) == expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (b.le(A, C), "(bvule a c)"),
        (b.lt(A, C), "(bvult a c)"),
        (b.le(S, T), "(bvsle s t)"),
        (b.lt(S, T), "(bvslt s t)"),
        (b.lt(R, b.real(0)), "(< r 0.0)"),
        (b.not_(P), "(not p)"),
    ],
    ids=str,
)
def test_comparisons_by_signedness(formula: Expr, expected: str) -> None:
    assert lines(formula) == [f"(assert {expected})"]


class TestUndefined:
    def test_division_by_zero_is_an_arbitrary_function_of_the_arguments(self) -> None:
        assert lines(b.lt(b.quot(S, T), S)) == [
            "(declare-fun quot!i8 ((_ BitVec 8) (_ BitVec 8)) (_ BitVec 8))",
            "(assert (bvslt (ite (= t (_ bv0 8)) (quot!i8 s t) (bvsdiv s t)) s))",
        ]

    def test_truncating_division_of_integers(self) -> None:
        assert lines(b.lt(b.rem(X, Y), X)) == [
            "(declare-fun rem!Int (Int Int) Int)",
            "(assert (< (ite (= y 0) (rem!Int x y) (ite (>= x 0) (mod x y) (- (mod (- x) y)))) x))",
        ]

    def test_oversized_shifts(self) -> None:
        assert lines(b.lt(b.shr(S, T), S)) == [
            "(declare-fun shr!i8 ((_ BitVec 8) (_ BitVec 8)) (_ BitVec 8))",
            "(assert (bvslt (ite (bvuge t (_ bv8 8)) (shr!i8 s t) (bvashr s t)) s))",
        ]

    def test_signed_and_unsigned_have_functions_of_their_own(self) -> None:
        declared = [x for x in lines(b.lt(b.quot(S, T), S), b.lt(b.quot(A, C), A)) if "declare-fun" in x]
        assert len(declared) == 2

    def test_a_constant_that_is_safe_needs_no_function(self) -> None:
        assert not any("declare-fun" in x for x in lines(b.lt(b.quot(X, b.integer(-2)), X)))
        assert any("declare-fun" in x for x in lines(b.lt(b.shl(A, b.constant(8, U8)), A)))


class TestSharing:
    def test_a_term_used_twice_is_defined_once(self) -> None:
        total = b.add(X, Y)
        printed = lines(b.lt(total, b.integer(3)), b.lt(b.integer(0), total))
        assert printed[0].startswith("(define-fun t!1 () Int (+ ")
        assert printed[1:] == ["(assert (< t!1 3))", "(assert (< 0 t!1))"]

    def test_inside_a_quantifier_by_let(self) -> None:
        i = b.bound(0, INT)
        square = b.mul(i, i)
        (line,) = lines(b.forall((INT,), b.lt(b.quot(X, b.integer(2)), b.div(square, square))))[-1:]
        assert "(let ((t!" in line
        assert line.count("(* ") == 1

    def test_open_terms_of_different_quantifiers_are_kept_apart(self) -> None:
        """BOUND 0 means another variable in each scope, though the term is the same object."""
        zero = b.eq(b.mod(b.bound(0, INT), b.integer(2)), b.integer(0))
        inner = b.exists((INT,), b.and_(zero, b.lt(b.bound(1, INT), b.bound(0, INT))))
        (line,) = lines(b.forall((INT,), b.or_(zero, inner)))
        assert line.count("(mod q!1 2)") == 1
        assert line.count("(mod q!2 2)") == 1
        assert "(< q!1 q!2)" in line or "(< q!2 q!1)" in line

    def test_nesting_stays_shallow(self) -> None:
        term = A
        for _ in range(1000):
            term = b.sub(C, term)
        deepest = max(line.count("(") for line in lines(b.lt(term, A)))
        assert deepest < 60

    def test_constant_arrays_of_terms_are_axiomatised(self) -> None:
        printed = script([b.eq(b.const_array(INT, P), M)]).splitlines()
        assert "(declare-const k!1 (Array Int Bool))" in printed
        assert "(assert (forall ((q!2 Int)) (= (select k!1 q!2) p)))" in printed


class TestSymbols:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("main.x", "main.x"),
            ("f.x@3.1", "f.x@3.1"),
            ("old(x)", "|old(x)|"),
            ("p.$1", "p.$1"),
            ("x/1", "x/1"),
            ("a b", "|a b|"),
            ("1st", "|1st|"),
            ("", "||"),
            ("and", "and!"),
            ("select", "select!"),
            ("str.len", "str.len!"),
            ("bvadd", "bvadd!"),
            ("set", "set!"),
            ("sets", "sets"),
            ("a|b\\", "|a?b?|"),
            (".x", "_.x"),
            ("@x", "_@x"),
            ("-", "-!"),
            ("é", "|é|"),
        ],
    )
    def test_quoting(self, name: str, expected: str) -> None:
        assert symbol(name) == expected

    def test_variables_of_one_name_and_different_sorts(self) -> None:
        same = [b.var("v", s) for s in (INT, U8, I8)]
        printed = script([b.eq(v, b.constant(1, v.sort)) for v in same]).splitlines()
        assert [x for x in printed if "declare" in x] == [
            "(declare-const v Int)",
            "(declare-const v!u8 (_ BitVec 8))",
            "(declare-const v!i8 (_ BitVec 8))",
        ]

    def test_names_of_definitions_avoid_those_of_variables(self) -> None:
        taken = b.var("t!1", INT)
        total = b.add(taken, X)
        printed = lines(b.lt(total, b.integer(3)), b.lt(b.integer(0), total))
        assert "(define-fun t!1 " not in printed[0]

    def test_functions_of_one_name(self) -> None:
        f, g = Function("f", (INT,), BOOL), Function("f", (BOOL,), BOOL)
        printed = lines(b.apply(f, (X,)), b.apply(g, (P,)), b.var("f", BOOL))
        assert len({x.split()[1] for x in printed if "declare-fun" in x}) == 2

    def test_sorts(self) -> None:
        assert sort_text(array(U8, array(INT, REAL))) == "(Array (_ BitVec 8) (Array Int Real))"

"""Test the reader of CHC-COMP files: the strict format, the loose dialects, and errors in others."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.accounting import Budget
from certus.core.c_text import c_text
from certus.core.errors import BudgetExceeded, InputError, Unsupported
from certus.core.horn import Clause, HornSystem
from certus.core.terms import INT, array, machine
from certus.frontend.chc.load import load_chc
from certus.frontend.source import Source


def load(text: str) -> HornSystem:
    return load_chc(Source(f"{text}\n(check-sat)", "test.smt2"), Budget(60))


def clauses(*assertions: str) -> list[str]:
    """The clauses of assertions over relations P (Int), Q (Int Int) and R, as text."""
    declared = "(declare-fun P (Int) Bool) (declare-fun Q (Int Int) Bool) (declare-fun R () Bool)"
    return [shown(c) for c in load(declared + " ".join(f"(assert {a})" for a in assertions)).clauses]


def shown(clause: Clause) -> str:
    body = [c_text(a) for a in clause.body]
    constraint = [] if clause.constraint is build.TRUE else [c_text(clause.constraint)]
    head = "false" if clause.head is None else c_text(clause.head)
    return f"{' and '.join([*sorted(body), *constraint]) or 'true'} -> {head}"


def test_the_strict_format() -> None:
    system = load(
        """(set-logic HORN)
        (declare-fun |P| ( Int Int ) Bool)
        (assert (forall ( (A Int) (B Int) ) (=> (and (= A 0) (= B 1)) (P A B))))
        (assert (forall ((A Int) (B Int)) (=> (and (P A B) (< A 10)) (P (+ A 1) (* 2 B)))))
        (assert (forall ((A Int) (B Int)) (=> (and (P A B) (not (<= A B))) false)))
        (check-sat)
        (exit)"""
    )
    assert [r.name for r in system.relations] == ["P"]
    assert system.relations[0].parameters == (INT, INT)
    assert [len(c.body) for c in system.clauses] == [0, 1, 1]
    assert [c.head is None for c in system.clauses] == [False, False, True]
    assert [[v.name for v in c.variables] for c in system.clauses] == [["A", "B"]] * 3


@pytest.mark.parametrize(
    ("assertion", "expected"),
    [
        ("(forall ((x Int)) (P x))", ["true -> P(x)"]),
        ("(P 3)", ["true -> P(3)"]),
        ("R", ["true -> R()"]),
        ("(not R)", ["R() -> false"]),
        ("(forall ((x Int)) (not (and (P x) (> x 3))))", ["P(x) and x > 3 -> false"]),
        ("(forall ((x Int)) (or (not (P x)) (<= x 3)))", ["P(x) and x > 3 -> false"]),
        ("(forall ((x Int)) (=> (P x) (> x 3) (P (+ x 1))))", ["P(x) and x > 3 -> P(x + 1)"]),
        ("(forall ((x Int)) (=> (or (P x) R) (Q x x)))", ["P(x) -> Q(x, x)", "R() -> Q(x, x)"]),
        ("(forall ((x Int)) (=> R (and (P x) (Q x 0))))", ["R() -> P(x)", "R() -> Q(x, 0)"]),
        ("(=> (exists ((x Int)) (Q x 1)) R)", ["Q(x!1, 1) -> R()"]),
        ("(forall ((x Int)) (=> R (forall ((y Int)) (=> (P y) (Q x y)))))", ["P(y!1) and R() -> Q(x, y!1)"]),
        ("(forall ((x Int)) (let ((y (+ x 1))) (=> (let ((x y)) (P x)) (P y))))", []),
        (
            "(forall ((x Int)) (=> (ite (< x 0) R (P x)) false))",
            ["R() and x < 0 -> false", "P(x) and x >= 0 -> false"],
        ),
        ("(forall ((x Int)) (= (P x) R))", ["R() -> P(x)", "P(x) -> R()"]),
        ("(forall ((x Int)) (! (P x) :named a))", ["true -> P(x)"]),
        (
            "(forall ((x Int)) (=> (and (P x) (distinct x 1 2)) R))",
            ["P(x) and x != 2 && x != 1 -> R()"],
        ),
    ],
)
def test_dialects(assertion: str, expected: list[str]) -> None:
    assert sorted(clauses(assertion)) == sorted(expected)


def test_several_queries_and_definitions() -> None:
    system = load(
        """(declare-fun P (Int) Bool)
        (define-fun next ((x Int)) Int (+ x 1))
        (define-fun bad ((y Int)) Bool (or (P y) (< y 0)))
        (assert (forall ((x Int)) (=> (P x) (P (next x)))))
        (assert (forall ((x Int)) (=> (and (P x) (= x 7)) false)))
        (assert (forall ((x Int)) (not (and (bad x) (> x 9)))))"""
    )
    assert [c.head is None for c in system.clauses] == [False, True, True, True]
    assert "x + 1" in shown(system.clauses[0])


def test_variables_of_one_name_stay_distinct() -> None:
    (clause,) = load(
        "(declare-fun P (Int) Bool)"
        "(assert (=> (and (exists ((x Int)) (P x)) (exists ((x Int)) (and (P x) (> x 1)))) false))"
    ).clauses
    assert len(clause.variables) == 2
    assert len(clause.body) == 2


def test_a_fresh_name_is_not_one_of_the_script() -> None:
    (clause,) = load(
        "(declare-fun Q (Int Int Int) Bool)"
        "(assert (forall ((x!1 Int) (x Int)) (=> (exists ((x Int)) (Q x!1 x 0)) (> x!1 x))))"
    ).clauses
    assert len({v.name for v in clause.variables}) == len(clause.variables) == 3


def test_sorts() -> None:
    system = load(
        "(define-sort Word () (_ BitVec 8)) (declare-fun P ((Array Int (Array Int Bool)) Word Real) Bool)"
    )
    (relation,) = system.relations
    assert relation.parameters[0] is array(INT, array(INT, build.TRUE.sort))
    assert relation.parameters[1] is machine(8, signed=False)


def test_integers_stand_for_reals() -> None:
    text = "(declare-fun P (Real) Bool)"
    text += "(assert (forall ((x Real)) (=> (and (P x) (< x 1) (= (/ x 2) 0.25)) (P 3))))"
    (clause,) = load(text).clauses
    assert str(clause.head) == "P(3)"
    assert str(clause.constraint) == "1/2 * x == 1/4 && x < 1"


@pytest.mark.no_cover
def test_nothing_follows_deep_nesting() -> None:
    depth = 20_000
    deep = "(+ 1 " * depth + "x" + ")" * depth
    (clause,) = load(f"(declare-fun P (Int) Bool)(assert (forall ((x Int)) (=> (P x) (P {deep}))))").clauses
    assert clause.head is not None
    assert c_text(clause.head) == f"P(x + {depth})"
    lets = "(let ((x (+ x 1))) " * depth + "(P x)" + ")" * depth
    (clause,) = load(f"(declare-fun P (Int) Bool)(assert (forall ((x Int)) {lets}))").clauses
    assert clause.head is not None
    assert c_text(clause.head) == f"P(x + {depth})"


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("(assert true))", 1, 14, "closes nothing"),
        ("(set-logic HORN)\n(assert (forall ((x Int)) true)", 2, 1, "never closed"),
        ("(assert\n  |x)", 2, 3, "does not end"),
        ('(set-info :a "b)', 1, 14, "does not end"),
        ("hello", 1, 1, "command is expected"),
        ("(assert x)", 1, 9, "`x` is not declared"),
        ("(assert (f 1))", 1, 10, "no function `f`"),
        ("(assert (+ 1 2))", 1, 9, "formula is expected"),
        ("(assert (and 1 true))", 1, 9, "takes Bool, not Int"),
        ("(declare-fun P (Int) Bool)\n(assert (P))", 2, 9, "takes 1 arguments, not 0"),
        ("(declare-fun P (Int) Bool)\n(assert (P true))", 2, 9, "sort Int is expected"),
        ("(declare-fun P (Foo) Bool)", 1, 17, "no sort `Foo`"),
        ("(declare-fun P () Bool)\n(declare-fun P () Bool)", 2, 14, "declared twice"),
        ("(declare-fun P)", 1, 1, "form `(declare-fun"),
        ("(assert (forall (x) true))", 1, 18, "variable and its sort"),
        ("(assert (let ((x)) true))", 1, 15, "name and a term"),
        ("(assert ())", 1, 9, "term is expected"),
        ("(assert (= 1 true))", 1, 9, "different sorts"),
        ("()", 1, 1, "command is expected"),
    ],
)
def test_malformed_text_is_refused_at_its_place(text: str, line: int, column: int, part: str) -> None:
    with pytest.raises(InputError) as caught:
        load(text)
    (diagnostic,) = caught.value.diagnostics
    assert part in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("(declare-datatypes ((L 0)) (((nil))))", "data types"),
        ("(declare-sort U 0)", "Uninterpreted sorts"),
        ("(declare-fun P (String) Bool)", "String"),
        (
            "(declare-fun P (Int) Bool)(assert (forall ((x Int)) (or (P x) (P (+ x 1)))))",
            "more than one head, `P` and `P`",
        ),
        ("(declare-fun P (Int) Bool)(assert (=> (forall ((x Int)) (P x)) false))", "`forall` in the body"),
        ("(declare-fun P (Int) Bool)(assert (exists ((x Int)) (P x)))", "`exists` in the head"),
        ("(declare-fun P (Int) Bool)(assert (P (ite (P 1) 2 3)))", "inside a term"),
        ("(push 1)", "`push`"),
        ("(check-sat)(assert true)", "after `check-sat`"),
        ("(declare-fun P ((_ BitVec 99999999)) Bool)", "99999999 bits"),
    ],
)
def test_unsupported_input_names_itself(text: str, part: str) -> None:
    with pytest.raises(Unsupported) as caught:
        load(text)
    assert part in caught.value.diagnostic.message
    assert caught.value.diagnostic.span is not None


def test_a_long_script_ends_in_a_limit() -> None:
    with pytest.raises(BudgetExceeded):
        load_chc(Source("(assert true)" * 200_000, "long.smt2"), Budget(0.01))

"""Horn clauses as text: what is written is read back as the same clauses."""

from __future__ import annotations

from certus.codec.smtlib_horn import definition, horn_script
from certus.core import build
from certus.core.accounting import Budget
from certus.core.horn import Clause, HornSystem
from certus.core.terms import BOOL, INT, Function, array
from certus.frontend.chc.load import load_chc
from certus.frontend.source import Source

X, Y = build.var("x", INT), build.var("y z", INT)
A = build.var("a", array(INT, INT))
P = Function("P", (INT, INT), BOOL)
Q = Function("main.loop", (A.sort,), BOOL)
TWICE = build.mul(X, Y)

SYSTEM = HornSystem(
    (P, Q),
    (
        Clause((X,), (), build.le(X, build.integer(-3)), build.apply(P, (X, X))),
        Clause(
            (X, Y, A),
            (build.apply(P, (X, Y)), build.apply(Q, (A,))),
            build.and_(build.lt(TWICE, build.select(A, X)), build.lt(build.integer(2), TWICE)),
            build.apply(Q, (build.store(A, X, TWICE),)),
        ),
        Clause((), (build.apply(P, (build.integer(1), build.integer(2))),), build.TRUE, None),
    ),
)


def test_clauses_are_read_back() -> None:
    text = horn_script(SYSTEM, comment="two\nlines")
    assert text.startswith("; two\n; lines\n(set-logic HORN)\n")
    loaded = load_chc(Source(text, "test.smt2"), Budget(60))
    assert loaded.relations == SYSTEM.relations
    for before, after in zip(SYSTEM.clauses, loaded.clauses, strict=True):
        assert (after.constraint, after.head) == (before.constraint, before.head)
        assert set(after.body) == set(before.body)
        assert after.variables == before.variables


def test_a_definition() -> None:
    formula = build.and_(build.lt(TWICE, build.integer(9)), build.lt(build.integer(2), TWICE))
    assert definition(P, (X, Y), formula) in (
        "(define-fun P ((x Int) (|y z| Int)) Bool (let ((t!1 (* x |y z|))) (and (< t!1 9) (< 2 t!1))))",
        "(define-fun P ((x Int) (|y z| Int)) Bool (let ((t!1 (* x |y z|))) (and (< 2 t!1) (< t!1 9))))",
        "(define-fun P ((x Int) (|y z| Int)) Bool (let ((t!1 (* |y z| x))) (and (< t!1 9) (< 2 t!1))))",
        "(define-fun P ((x Int) (|y z| Int)) Bool (let ((t!1 (* |y z| x))) (and (< 2 t!1) (< t!1 9))))",
    )
    assert definition(Q, (A,), build.TRUE) == "(define-fun main.loop ((a (Array Int Int))) Bool true)"

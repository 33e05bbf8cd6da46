"""Constraint logic programs: their meaning, their sorts, and what is refused where."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.accounting import Budget
from certus.core.errors import InputError
from certus.core.horn import Clause, HornSystem
from certus.core.terms import BOOL, INT, REAL, Function, array, machine
from certus.frontend.clp.load import load_clp
from certus.frontend.source import Source

X = build.var("X", INT)


def load(text: str) -> HornSystem:
    return load_clp(Source(text, "test.clp"), Budget())


def test_a_rule_is_a_clause() -> None:
    system = load("r(X) :- X > 0, s(X).  % the example of the documentation\ns(0). false :- r(X).")
    r, s = (Function(name, (INT,), BOOL) for name in "rs")
    assert system.relations == (r, s)
    assert system.clauses == (
        Clause((X,), (build.apply(s, [X]),), build.gt(X, build.integer(0)), build.apply(r, [X])),
        Clause((), (), build.TRUE, build.apply(s, [build.integer(0)])),
        Clause((X,), (build.apply(r, [X]),), build.TRUE, None),
    )


def test_operators_bind_as_in_prolog() -> None:
    plain = load("r(X, Y) :- X + 2 * Y - 1 =< -X, \\+ X = Y, ( X < 0 ; Y >= 3, X \\= 1 ).")
    explicit = load(
        "r(X, Y) :- ((((X + (2 * Y)) - 1) =< (-X)), (\\+ (X = Y))), ((X < 0) ; ((Y >= 3), (X \\= 1)))."
    )
    assert plain.clauses == explicit.clauses


def test_a_disjunction_of_atoms_makes_two_clauses() -> None:
    system = load("e(X) :- X < 9, ( t(X) ; e(X + 1) ). ?- e(0).")
    assert [len(clause.body) for clause in system.clauses] == [1, 1, 1]
    assert system.clauses[2].head is None


@pytest.mark.parametrize(
    ("rule", "sorts"),
    [
        ("r(A, I) :- select(A, I) = 0.", (array(INT, INT), INT)),
        ("r(A, B) :- A = store(B, 0, 1.5).", (array(INT, REAL), array(INT, REAL))),
        ("r(B, X) :- B, X / 2 > 1.", (BOOL, REAL)),
        ("r(X, Y) :- bvult(X, bv(3, 8)), Y = bvadd(X, X).", (machine(8, signed=False),) * 2),
        ("r(X, Y) :- Y : real, X = Y.", (REAL, REAL)),
        ("r(X, Y) :- s(X, Y). s(X, Y) :- X = true, Y = ite(X, 1, 2).", (BOOL, INT)),
        ("r(A, X) :- A = const(array(int, bool), X).", (array(INT, BOOL), BOOL)),
    ],
)
def test_sorts_are_inferred(rule: str, sorts: tuple[object, ...]) -> None:
    assert load(rule).relations[0].parameters == sorts


def test_declarations() -> None:
    text = ":- relation 'E.main'(bool, bv(8)).\n:- function f(int) = int.\n'E.main'(B, X) :- f(1) > 0."
    system = load(text)
    assert system.relations == (Function("E.main", (BOOL, machine(8, signed=False)), BOOL),)
    assert system.clauses[0].variables[0].sort is BOOL


def test_anonymous_variables_are_different() -> None:
    (clause,) = load("r(_, _).").clauses
    assert len(clause.variables) == 2


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("r(X) :- X > 0", "1:13", "does not end"),
        ("r(X) :- .", "1:9", "expected here, not the end of the rule"),
        ("r(X) :- (X > 0.", "1:9", "never closed"),
        ("r(X) :- X < Y < 3.", "1:15", "cannot follow another operator"),
        ("r(X) :- s(X) :- t(X).", "1:14", "second `:-`"),
        ("r(X)\n  :- X # 3.", "2:8", "no part of a rule"),
        ("r(X). s(Y) :- r(Y, Y).", "1:15", "has 1 arguments elsewhere, and 2 here"),
        ("r(X) :- \\+ r(X).", "1:12", "negated"),
        ("r(X) :- f(X) > 3.", "1:9", "no function `f`"),
        ("X > 3 :- r(X).", "1:1", "head of a rule"),
        ("r(X) :- x > 3.", "1:9", "`x` is not declared"),
        ("r(X, Y) :- X = true, Y = X + 1.", "1:26", "numbers"),
        (":- relation r(float).", "1:15", "not a sort"),
        (":- dynamic r.", "1:4", "no such declaration"),
        ("r(bv(9, 3)).", "1:3", "not a bit-vector"),
        ("r(X) :- 3 : int.", "1:9", "variable is expected before"),
    ],
)
def test_errors_have_a_place(text: str, place: str, part: str) -> None:
    with pytest.raises(InputError) as caught:
        load(text)
    (diagnostic,) = caught.value.diagnostics
    assert part in diagnostic.message
    assert str(diagnostic.span) == f"test.clp:{place}"
    assert diagnostic.code == "bad-clp"


def test_deep_terms_need_no_recursion() -> None:
    deep = "(" * 5000 + "X" + ")" * 5000
    sums = "+".join(["X"] * 5000)
    assert (
        len(load(f"r(X) :- {deep} > 0, {sums} = 0, {'store(' * 3000}A{', 0, 1)' * 3000} = A.").clauses) == 1
    )

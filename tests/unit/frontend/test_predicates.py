"""Test predicates of users: scopes, names, positions of errors, exact machine arithmetic."""

from __future__ import annotations

from itertools import product

import pytest

from certus.core import build
from certus.core.errors import InputError
from certus.core.evidence import old
from certus.core.terms import INT, Expr, machine
from certus.core.values import evaluate
from certus.frontend.lp.load import load_lp
from certus.frontend.predicates import in_machine_arithmetic, parse_predicates

PROGRAM = load_lp(
    "int x; bool b; int, int f(int n) { int k = n; return k, n; } void main() { int k; k, x = f(x); }", "t.lp"
).program


def var(name: str) -> Expr:
    return build.var(name, INT)


def test_scopes_last_and_names_are_those_of_the_source() -> None:
    parsed = parse_predicates("global: x > 0; b; f: k == n, old(n) < old(x);\nmain: main.k > x;", PROGRAM)
    assert [p.text for p in parsed.shared] == ["x > 0", "b"]
    assert {name: [p.text for p in own] for name, own in parsed.own.items()} == {
        "f": ["k == n", "old(n) < old(x)"],
        "main": ["main.k > x"],
    }
    assert parsed.own["f"][0].term is build.eq(var("f.k"), var("f.n"))
    assert parsed.own["f"][1].term is build.lt(old(var("f.n")), old(var("x")))


def test_results_are_numbered_if_there_are_several() -> None:
    parsed = parse_predicates("f: result0 == result1, result0 == result1", PROGRAM)
    (predicate,) = parsed.own["f"]
    assert predicate.term is build.eq(var("f.$result0"), var("f.$result1"))


@pytest.mark.parametrize(
    ("text", "column", "code"),
    [
        ("x > 0", 1, "bad-predicate"),
        ("global: x > 0; g: x > 1", 16, "bad-predicate"),
        ("global: x > 0, k > 1", 16, "undeclared-variable"),
        ("global: x >", 12, "syntax-error"),
        ("global: x + 1", 9, "type-mismatch"),
        ("global: x > *", 13, "nondeterministic-value"),
        ("global: f(x) > 1", 9, "nested-call"),
        ("global: 1 < 2", 9, "bad-predicate"),
    ],
)
def test_what_is_wrong_is_located(text: str, column: int, code: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_predicates(text, PROGRAM)
    (parsed,) = caught.value.diagnostics
    assert parsed.span is not None
    assert (parsed.span.line, parsed.span.column, parsed.code) == (1, column, code)


def test_everything_wrong_is_reported() -> None:
    with pytest.raises(InputError) as caught:
        parse_predicates("global: k > 0,\n y > 0", PROGRAM)
    places = [(d.span.line, d.span.column) for d in caught.value.diagnostics if d.span]
    assert places == [(1, 9), (2, 2)]


A, B = build.var("a", machine(3, signed=True)), build.var("b", machine(3, signed=False))


@pytest.mark.parametrize(
    "term",
    [
        build.le(build.to_int(A), build.integer(2)),
        build.lt(build.integer(-9), build.to_int(A)),
        build.le(build.add(build.to_int(A), build.to_int(B)), build.integer(9)),
        build.eq(build.mul(build.to_int(A), build.to_int(B)), build.integer(-28)),
        build.lt(build.to_int(A), build.to_int(B)),
        build.eq(build.quot(build.to_int(B), build.integer(3)), build.scale(-2, build.to_int(A))),
    ],
)
def test_machine_arithmetic_is_wide_enough(term: Expr) -> None:
    parsed = in_machine_arithmetic(term)
    for a, b in product(range(-4, 4), range(8)):
        assert evaluate(parsed, {A: a, B: b}) == evaluate(term, {A: a, B: b})

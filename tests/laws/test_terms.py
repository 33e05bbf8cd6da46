"""Laws of terms: what constructors, walkers, printers and the wire format must keep."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.laws.strategies import (
    INTERPRETATION,
    SORTS,
    UNDEFINED,
    Tree,
    build,
    cases,
    environments,
    literal,
    naive,
    terms,
)

from certus.codec.smtlib import script
from certus.codec.terms import decode_terms, encode_terms, well_sorted
from certus.core import build as make
from certus.core.c_text import c_text
from certus.core.errors import Undefined
from certus.core.terms import BOOL, INT, Expr, machine
from certus.core.values import evaluate
from certus.core.walk import postorder, rebuild, size, substitute, transform, variables

law = settings(
    max_examples=200, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
any_term = st.sampled_from(SORTS).flatmap(terms)


def value(term: Expr, env: dict[Expr, Any]) -> Any:
    try:
        return evaluate(term, env, INTERPRETATION)
    except Undefined:
        return UNDEFINED


@law
@given(cases())
def test_constructors_and_simplification_preserve_the_value(case: tuple[Tree, dict[Expr, Any]]) -> None:
    tree, env = case
    expected = naive(tree, env)
    if expected is not UNDEFINED:  # otherwise the value is arbitrary: a constructor may choose one
        result = value(build(tree), env)
        assert result == expected
        assert type(result) is type(expected)


@law
@given(any_term)
def test_constructors_make_well_sorted_terms(term: Expr) -> None:
    for part in postorder(term):
        assert well_sorted(part.kind, part.args, part.data, part.sort)


@law
@given(any_term, st.data())
def test_substitution_commutes_with_evaluation(term: Expr, data: st.DataObject) -> None:
    free = variables(term)
    replacements = {v: data.draw(terms(v.sort, depth=1)) for v in free[::2]}
    env = data.draw(environments(variables(term, *replacements.values())))
    inner = {**env, **{v: value(t, env) for v, t in replacements.items()}}
    if any(v is UNDEFINED for v in inner.values()):
        return
    expected = value(term, inner)
    if expected is not UNDEFINED:
        assert value(substitute(term, replacements), env) == expected


@law
@given(any_term)
def test_substituting_nothing_new_changes_nothing(term: Expr) -> None:
    assert substitute(term, {v: v for v in variables(term)}) is term


@law
@given(cases())
def test_closing_a_term_with_its_values_gives_its_value(case: tuple[Tree, dict[Expr, Any]]) -> None:
    tree, env = case
    term = build(tree)
    expected = value(term, env)
    closed = substitute(term, {v: literal(x, v.sort) for v, x in env.items()})
    assert expected is UNDEFINED or value(closed, {}) == expected


@law
@given(any_term, st.data())
def test_rebuilding_keeps_the_value(term: Expr, data: st.DataObject) -> None:
    """Rebuilt from the leaves up, with new arguments on the way, so that everything is simplified anew."""
    free = variables(term)
    fresh = {v: make.var(f"{v.name}'", v.sort) for v in free}
    env = data.draw(environments(free))
    renamed = transform(term, lambda t, args: fresh.get(t, rebuild(t, args)))
    expected = value(term, env)
    if expected is not UNDEFINED:
        assert value(renamed, {fresh[v]: x for v, x in env.items()}) == expected


@law
@given(st.lists(any_term, max_size=3))
def test_the_wire_gives_back_the_same_terms(roots: list[Expr]) -> None:
    table = json.loads(json.dumps(encode_terms(roots)))
    assert decode_terms(table) == tuple(roots)  # the same objects: terms are interned


@law
@given(any_term)
def test_texts_are_balanced_and_limited(term: Expr) -> None:
    text = c_text(term, limit=10_000)
    assert text.count("(") == text.count(")")
    assert text.count("[") == text.count("]")
    assert len(c_text(term, limit=20)) <= 20
    smt = script([make.eq(term, term), make.eq(term, make.var("other", term.sort))])
    assert smt.count("(") - smt.count(")") == 0


DIGESTS = """
from certus.core.build import *
from certus.core.values import evaluate
from certus.codec.smtlib import script
from certus.core.terms import *
from certus.core.terms import Function
from certus.core.walk import postorder
u8, word = machine(8, signed=False), array(INT, BOOL)
x, y, b, a = var("x", INT), var("y", INT), var("b", u8), var("a", word)
f = apply(Function("f", (INT, BOOL), REAL), (add(x, y, integer(-1)), TRUE))
term = and_(or_(le(x, y), not_(eq(b, constant(3, u8)))), lt(f, real(Fraction(1, 3))),
            eq(store(a, x, FALSE), a), forall((INT, u8), eq(wrap(bound(1, INT), u8), bound(0, u8))),
            lt(integer(2**200), x), *(eq(var(f"v{i}", INT), integer(-i)) for i in range(50)))
print([t.digest for t in postorder(term)], term, script([term]))
"""


def test_digests_and_texts_do_not_depend_on_the_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(outputs) == 1


# ------------------------------------------------------------------------------ depth and sharing

U8 = machine(8, signed=False)
X, Y = make.var("x", INT), make.var("y", INT)
P, Q = make.var("p", BOOL), make.var("q", BOOL)
A, B = make.var("a", U8), make.var("b", U8)


def deep_formula(depth: int) -> Expr:
    term = P
    for _ in range(depth // 2):
        term = make.or_(make.not_(make.and_(term, Q)), P)
    return term


def deep_machine_term(depth: int) -> Expr:
    term = A
    for _ in range(depth):
        term = make.sub(B, term)
    return term


def deep_choice(depth: int) -> Expr:
    term = X
    for n in range(depth):
        term = make.ite(make.eq(Y, make.integer(n)), make.integer(n), term)
    return term


def doubled(depth: int) -> Expr:
    """A sum of 2**depth leaves over depth shared subterms."""
    term = A
    for _ in range(depth):
        term = make.mul(make.sub(term, B), make.add(term, B))
    return term


@pytest.mark.parametrize("deep", [deep_formula, deep_machine_term, deep_choice])
def test_chains_of_20_000_terms_need_no_recursion(deep: Any) -> None:
    term = deep(20_000)
    env: dict[Expr, Any] = {X: 1, Y: -5, P: False, Q: True, A: 3, B: 5}
    assert size(term) >= 20_000
    assert decode_terms(encode_terms([term])) == (term,)
    assert len(script([make.eq(term, make.var("other", term.sort))])) > 20_000
    assert len(c_text(term)) == 4000
    closed = substitute(term, {v: literal(x, v.sort) for v, x in env.items()})
    assert value(closed, {}) == value(term, env)


def test_shared_terms_cost_no_more_than_their_distinct_subterms() -> None:
    term = doubled(300)
    assert size(term) < 1000
    assert len(encode_terms([term])["nodes"]) == size(term)
    assert len(script([make.eq(term, A)])) < 100_000
    assert len(c_text(term)) == 4000
    assert c_text(term).endswith("...")
    assert value(term, {A: 2, B: 1}) == value(substitute(term, {A: make.constant(2, U8)}), {B: 1})


def test_divisions_do_not_double_the_text() -> None:
    term = X
    for _ in range(200):
        term = make.quot(make.add(term, Y), make.rem(term, Y))
    assert len(script([make.eq(term, X)])) < 200_000

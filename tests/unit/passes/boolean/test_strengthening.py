"""F and G against their definitions, by trying all states of a small domain."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.boolean import FALSE, TRUE, Condition
from certus.core.terms import BOOL, INT, Expr
from certus.core.values import evaluate
from certus.passes.boolean.strengthening import MINTERMS, Vocabulary, cover

X, Y = build.var("x", INT), build.var("y", INT)
P, Q, R = (build.var(name, BOOL) for name in "pqr")


def number(value: int) -> Expr:
    return build.integer(value)


def vocabulary(*meanings: Expr, minterms: int = MINTERMS) -> Vocabulary:
    meaning = dict(zip((P, Q, R), meanings, strict=False))
    return Vocabulary(meaning, budget=Budget(60), statistics=Statistics(), minterms=minterms)


LISTING = (build.le(X, number(5)), build.ge(Y, number(13)))


def test_f_and_g_of_the_seeds_example() -> None:
    words = vocabulary(*LISTING)
    assert words.choose(build.le(build.add(X, Y), number(5))).no == Condition((((P, False), (Q, True)),))
    assert words.choose(build.le(build.add(X, Y), number(5))).yes.never
    assert words.strengthened(build.le(build.sub(X, Y), number(5))) == Condition((((P, True), (Q, True)),))
    assert words.weakened(build.gt(X, Y)) == Condition((((P, True), (Q, True)),), negated=True)
    assert words.weakened(build.le(X, Y)).always
    assert (words.choose(build.TRUE), words.choose(build.FALSE)) == (TRUE, FALSE)


def test_a_predicate_is_its_own_abstraction() -> None:
    words = vocabulary(*LISTING)
    assert words.weakened(build.lt(X, number(6))) == Condition((((P, True),),))
    assert words.strengthened(build.lt(Y, number(13))) == Condition((((Q, False),),))


BOUNDS = st.builds(
    lambda a, b, c: build.le(build.add(build.scale(a, X), build.scale(b, Y)), number(c)),
    st.integers(-2, 2),
    st.integers(-2, 2),
    st.integers(-3, 3),
)
STATES = [dict(zip((X, Y), values, strict=True)) for values in product(range(-9, 10), repeat=2)]


@given(st.lists(BOUNDS, min_size=1, max_size=3), BOUNDS, st.sampled_from([MINTERMS, 1]))
@settings(derandomize=True, deadline=None, max_examples=15)
def test_f_implies_the_formula_which_implies_g(predicates: list[Expr], formula: Expr, minterms: int) -> None:
    words = vocabulary(*predicates, minterms=minterms)
    chosen, weak = words.choose(formula), words.weakened(formula)
    for state in STATES:
        valuation = {b: bool(evaluate(p, state)) for b, p in zip((P, Q, R), predicates, strict=False)}
        true = bool(evaluate(formula, state))
        assert chosen.allows(true, valuation)
        assert not chosen.yes.holds(valuation) or true
        assert not chosen.no.holds(valuation) or not true
        assert not true or weak.holds(valuation)


@given(st.lists(BOUNDS, min_size=1, max_size=3, unique=True), BOUNDS)
@settings(derandomize=True, deadline=None, max_examples=15)
def test_f_is_the_weakest_and_g_the_strongest(predicates: list[Expr], formula: Expr) -> None:
    """A valuation under which the formula is true in all states of a domain that is large enough for these
    coefficients is in F, and one under which it is false in all of them is not in G."""
    words = vocabulary(*predicates)
    chosen, weak = words.choose(formula), words.weakened(formula)
    wide = [dict(zip((X, Y), v, strict=True)) for v in product(range(-24, 25), repeat=2)]
    occurs: dict[tuple[bool, ...], set[bool]] = {}
    for state in wide:
        key = tuple(bool(evaluate(p, state)) for p in predicates)
        occurs.setdefault(key, set()).add(bool(evaluate(formula, state)))
    for key, truths in occurs.items():
        valuation = dict(zip((P, Q, R), key, strict=False))
        assert chosen.yes.holds(valuation) == (truths == {True})
        assert weak.holds(valuation) == (True in truths)


def test_contradictions_are_said_once() -> None:
    bounds = [build.le(X, number(n)) for n in (1, 2, 3)]
    assert vocabulary(*bounds).contradictions() == [((P, True), (Q, False)), ((Q, True), (R, False))]
    assert vocabulary(build.lt(X, X)).contradictions() == [((P, True),)]
    assert vocabulary(*LISTING).contradictions() == []
    three = (build.lt(X, Y), build.le(Y, number(3)), build.lt(X, number(3)))
    assert vocabulary(*three).contradictions() == [
        ((P, True), (Q, True), (R, False)),
        ((P, False), (Q, False), (R, True)),
    ]


@given(st.sets(st.integers(0, 31)), st.sets(st.integers(0, 31)))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_a_cover_contains_and_leaves_out(on: set[int], off: set[int]) -> None:
    off -= on
    cubes = cover(sorted(on), sorted(off), 5)

    def covered(minterm: int) -> bool:
        return any(not (minterm ^ values) & mask for mask, values in cubes)

    assert all(map(covered, on))
    assert not any(map(covered, off))

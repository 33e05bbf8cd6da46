"""Regions against truth tables: all operations on all valuations of a few predicates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certus.core import build
from certus.core.terms import BOOL, Expr
from certus.core.values import evaluate
from certus.solvers.bdd import Region, Regions

NAMES = tuple(build.var(name, BOOL) for name in "abcd")
Valuation = tuple[bool, ...]
ALL: tuple[Valuation, ...] = tuple(product((False, True), repeat=len(NAMES)))


def region_of(regions: Regions, members: frozenset[Valuation]) -> Region:
    region = regions.nothing
    for valuation in sorted(members):
        region = regions.either(region, regions.minterm(dict(zip(NAMES, valuation, strict=True))))
    return region


def members_of(regions: Regions, region: Region) -> frozenset[Valuation]:
    formula = regions.formula(region)
    return frozenset(v for v in ALL if evaluate(formula, dict(zip(NAMES, v, strict=True))))


SETS = st.frozensets(st.sampled_from(ALL))


@given(SETS, SETS)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_operations_are_those_of_sets(one: frozenset[Valuation], other: frozenset[Valuation]) -> None:
    regions = Regions()
    a, b = region_of(regions, one), region_of(regions, other)
    assert members_of(regions, a) == one
    assert members_of(regions, regions.both(a, b)) == one & other
    assert members_of(regions, regions.either(a, b)) == one | other
    assert members_of(regions, regions.minus(a, b)) == one - other


@given(SETS, SETS)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_equal_sets_are_the_same_region(one: frozenset[Valuation], other: frozenset[Valuation]) -> None:
    regions = Regions()
    region_of(regions, one | other)
    a, b = region_of(regions, one), region_of(regions, other)
    assert (a is b) == (one == other)
    assert (regions.minus(a, b) is regions.nothing) == (one <= other)


def test_the_constants() -> None:
    regions = Regions()
    assert regions.formula(regions.everything) is build.TRUE
    assert regions.formula(regions.nothing) is build.FALSE
    assert regions.minterm({}) is regions.everything
    assert regions.size(regions.everything) == 0


def test_a_formula_may_rename_its_predicates() -> None:
    regions = Regions()
    new = {x: build.var(f"{x.name}2", BOOL) for x in NAMES}
    region = regions.minterm({NAMES[0]: True, NAMES[1]: False})
    renamed = regions.formula(region, new.__getitem__)
    assert renamed is build.and_(new[NAMES[0]], build.not_(new[NAMES[1]]))


@pytest.mark.parametrize("number", [3000])
@pytest.mark.no_cover
def test_many_predicates_need_no_deep_stack(number: int) -> None:
    regions = Regions()
    predicates = [build.var(f"p{n}", BOOL) for n in range(number)]
    ones: Mapping[Expr, bool] = dict.fromkeys(predicates, True)
    one, other = regions.minterm(ones), regions.minterm({**ones, predicates[-1]: False})
    joined = regions.either(one, other)
    assert regions.size(joined) == number - 1
    assert regions.minus(joined, other) is one
    assert len(list(_conjuncts(regions.formula(joined)))) == number - 1


def _conjuncts(formula: Expr) -> Iterator[Expr]:
    stack = [formula]
    while stack:
        term = stack.pop()
        if term.args:
            stack.extend(term.args)
        else:
            yield term


@given(SETS)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_valuations_are_counted(members: frozenset[Valuation]) -> None:
    regions = Regions()
    assert regions.count(region_of(regions, members), NAMES) == len(members)


def test_predicates_that_belong_together_are_put_together() -> None:
    """p1 and q1, p2 and q2, ... each agree: few nodes if they stand side by side, 2^n if all p come first."""
    first, second = ([build.var(f"{letter}{n}", BOOL) for n in range(10)] for letter in "pq")

    def agreeing(regions: Regions) -> Region:
        region = regions.everything
        for p, q in zip(first, second, strict=True):
            both = [regions.minterm({p: holds, q: holds}) for holds in (True, False)]
            region = regions.both(region, regions.either(*both))
        return region

    apart, together = Regions(), Regions()
    for regions in (apart, together):
        for p in first:
            regions.literal(p)
    for pair in zip(first, second, strict=True):
        together.beside(pair)
    assert apart.size(agreeing(apart)) > 1000
    assert together.size(agreeing(together)) == 30
    assert together.count(agreeing(together), [*first, *second]) == 2**10


def test_without_room_predicates_come_last() -> None:
    regions = Regions()
    names = [build.var(f"p{n}", BOOL) for n in range(100)]
    regions.literal(names[0])
    regions.literal(names[1])
    for name in names[2:]:
        regions.beside((names[0], name))
    region = regions.minterm(dict.fromkeys(names, True))
    assert regions.size(region) == 100
    assert regions.count(region, names) == 1


def test_projection_and_substitution_agree_with_all_valuations() -> None:
    """`without` is "for some value", `substituted` puts functions in the place of predicates at once."""
    names = [build.var(f"p{n}", BOOL) for n in range(4)]
    draw, regions = Random(7), Regions()

    def some() -> Region:
        region = regions.nothing
        for bits in product((False, True), repeat=4):
            if draw.random() < 0.5:
                region = regions.either(region, regions.minterm(dict(zip(names, bits, strict=True))))
        return region

    def holds(region: Region, valuation: dict[Expr, bool]) -> bool:
        return regions.both(region, regions.minterm(valuation)) is not regions.nothing

    for _ in range(20):
        region, meanings = some(), {names[0]: some(), names[2]: some()}
        projected = regions.without(region, (names[1], names[3]))
        replaced = regions.substituted(region, meanings)
        for bits in product((False, True), repeat=4):
            at = dict(zip(names, bits, strict=True))
            choices = [{**at, names[1]: a, names[3]: b} for a, b in product((False, True), repeat=2)]
            assert holds(projected, at) == any(holds(region, each) for each in choices)
            values = {**at, **{name: holds(meaning, at) for name, meaning in meanings.items()}}
            assert holds(replaced, at) == holds(region, values)
        if region is not regions.nothing:
            chosen = regions.minterm(regions.valuation(region))
            assert regions.minus(chosen, region) is regions.nothing

"""Guess clauses about all objects of a region, and about the objects that variables point to.

A clause says that one of a few *literals* is true of a live object, or of the number in a variable. At most
one literal is the conclusion; the others are its *exceptions*. The clauses are the shortest that all sampled
states satisfy (Yao and others, "DistAI: Data-driven automated invariant learning for distributed protocols",
OSDI 2021). If one is not inductive, longer ones that contain it are not tried: more samples help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final

from certus.core import build
from certus.core.heap import Link
from certus.core.terms import BOOL, Expr, MachineSort
from certus.core.values import evaluate
from certus.core.walk import variables
from certus.engines.arrays.claims import Claim
from certus.engines.arrays.objects import Region
from certus.engines.arrays.samples import State, columns

OBJECTS: Final = 8  # objects of a state that are looked at
SMALL: Final = 3  # values that a variable has if it distinguishes cases

Literals = dict[Expr, bool]  # with whether each may be an exception
Chosen = frozenset[int]


@dataclass(slots=True, eq=False)
class Lattice:
    """The clauses of some literals. `each`: they are about all numbers of objects for which `guard` holds.
    `false`: the samples in which each literal is false, as the bits of a number."""

    each: Expr | None
    guard: Expr
    literals: Sequence[Expr]
    exceptions: Sequence[int]
    false: Sequence[int]

    def claims(self, exceptions: int) -> Iterator[Claim]:
        """Yield the shortest clauses that all samples satisfy, with a most number of exceptions."""
        shortest: list[Chosen] = []
        for more in range(exceptions + 1):
            level = (c for c in self._of_size(more) if not self._false_somewhere(c))
            shortest += dict.fromkeys([c for c in level if not any(each <= c for each in shortest)])
        yield from (claim for chosen in shortest if (claim := self._claim(chosen)) is not None)

    def _of_size(self, more: int) -> Iterator[Chosen]:
        for excepted in combinations(self.exceptions, more):
            some = [i for i in range(len(self.literals)) if i not in excepted]
            yield from (frozenset((i, *excepted)) for i in some)

    def _false_somewhere(self, chosen: Iterable[int]) -> bool:
        samples = -1
        for i in chosen:
            samples &= self.false[i]
        return samples != 0

    def _claim(self, chosen: Chosen) -> Claim | None:
        body = build.disjunction(self.literals[i] for i in sorted(chosen))
        if body is build.TRUE:
            return None
        return Claim(self.each, build.implies(self.guard, body), objects=self.each is not None)


@dataclass(frozen=True, eq=False)
class _Samples:
    """The states at a location, with the objects of a region that are live in each."""

    states: Sequence[State]
    region: Region
    each: Expr

    @cached_property
    def of_numbers(self) -> list[State]:
        first, end = self.region.objects.first, self.region.objects.end
        states: list[State] = []
        for state in self.states:
            low, high = int_of(first, state), int_of(end, state)
            states += ({**state, self.each: n} for n in range(low, min(high, low + OBJECTS)))
        return states

    @cached_property
    def of_objects(self) -> list[State]:
        live = self.region.objects.live(self.each)
        return [each for each in self.of_numbers if evaluate(live, each) is True]


def satisfied(claims: Iterable[Claim], heap: Sequence[Region], states: Sequence[State]) -> Iterator[Claim]:
    """Yield the claims that all sampled states satisfy."""
    by_kind: dict[Expr, list[State]] = {}
    for region in heap:
        each = build.var("@each", region.objects.first.sort)
        by_kind.setdefault(each, []).extend(_Samples(states, region, each).of_numbers)
    groups: dict[Expr | None, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.each if claim.objects or claim.each is None else build.TRUE, []).append(claim)
    for about, group in groups.items():
        some = states if about is None else by_kind.get(about, [])
        false = columns([claim.body for claim in group], some) if some else [0] * len(group)
        yield from (claim for claim, wrong in zip(group, false, strict=True) if not wrong)


def int_of(term: Expr, state: State) -> int:
    value = evaluate(term, state)
    assert isinstance(value, int)
    return value


def lattices(heap: Sequence[Region], known: frozenset[Expr], states: Sequence[State]) -> Iterator[Lattice]:
    """Yield the lattices of clauses at a location where some variables are `known`."""
    by_number = {region.number: region for region in heap}
    flags = _flags(known, states, [x for region in heap for x in region.terms])
    for region in heap:
        own = [x for x in region.terms if known.issuperset(variables(x))]
        a = build.var("@each", region.objects.first.sort)
        samples = _Samples(states, region, a)
        literals = _literals(region, by_number, a, own, known)
        yield _lattice(a, region.objects.live(a), {**literals, **flags}, samples.of_objects)
        for x in own:
            about = _literals(region, by_number, x, own, known)
            about[region.objects.live(x)] = False
            about[_zero(x)] = True
            yield _lattice(None, build.TRUE, {**about, **flags}, states)


def _lattice(each: Expr | None, guard: Expr, literals: Literals, samples: Sequence[State]) -> Lattice:
    useful = {x: allowed for x, allowed in literals.items() if x not in (build.TRUE, build.FALSE)}
    false = columns(list(useful), samples)
    exceptions = [i for i, allowed in enumerate(useful.values()) if allowed and false[i] != 0]
    return Lattice(each, guard, list(useful), exceptions, false)


def _flags(known: frozenset[Expr], states: Sequence[State], numbers: Sequence[Expr]) -> Literals:
    """Return comparisons of variables that have few values, which are no numbers of objects."""
    excluded = frozenset(x for term in numbers for x in variables(term))
    literals: Literals = {}
    for x in sorted(known - excluded, key=lambda each: each.name):
        values = {state[x] for state in states if x in state} if x.sort is BOOL or _is_machine(x) else set()
        if 1 < len(values) <= SMALL:
            for value in sorted(values, key=str):
                assert isinstance(value, int)
                same = build.eq(x, build.constant(value, x.sort))
                literals |= {same: True, build.not_(same): True}
    return literals


def _is_machine(x: Expr) -> bool:
    return isinstance(x.sort, MachineSort)


def _zero(x: Expr) -> Expr:
    some = variables(x)
    return build.eq(some[0], build.constant(0, some[0].sort)) if some else build.FALSE


def _literals(
    region: Region,
    by_number: Mapping[int, Region],
    a: Expr,
    terms: Iterable[Expr],
    known: frozenset[Expr],
) -> Literals:
    """Return what may be true of an object."""
    literals: Literals = {}
    for x in terms:
        literals[build.eq(a, x)] = True
    for memory, constants in region.values.items():
        for value in constants:
            same = build.eq(build.select(memory, a), value)
            literals |= {same: True, build.not_(same): True}
    for link in region.objects.links:
        literals |= _about_link(link, region, by_number[link.target], a, known)
    for source in by_number.values():
        for link in source.objects.links:
            if link.target == region.number:
                holder = build.select(link.holder, a)
                none = build.eq(holder, build.constant(0, holder.sort))
                live = source.objects.live(holder)
                literals |= {none: True, build.not_(none): True, live: True, build.not_(live): False}
                if source is region:
                    literals[build.eq(holder, a)] = True
                literals[build.and_(live, build.eq(link.object_of(holder), a))] = False
                for x in source.terms:
                    if known.issuperset(variables(x)):
                        same = build.eq(holder, x)
                        literals |= {same: False, build.not_(same): False}
    return literals


def _about_link(link: Link, region: Region, target: Region, a: Expr, known: frozenset[Expr]) -> Literals:
    """Return what may be true of an object and the one that it points to."""
    contents, held = build.select(link.memory, a), link.object_of(a)
    null = build.eq(contents, build.constant(0, contents.sort))
    literals: Literals = {null: True, build.not_(null): True, target.objects.live(held): False}
    literals[build.eq(build.select(link.holder, held), a)] = False
    for x in target.terms:
        if known.issuperset(variables(x)):
            literals[build.eq(held, x)] = True
    if link.target == region.number:
        literals |= {build.lt(held, a): False, build.lt(a, held): False, build.eq(held, a): True}
    for other in target.objects.links:
        if other is not link and other.target == region.number:
            literals[build.eq(other.object_of(held), a)] = False
    for memory, constants in target.values.items():
        for value in constants:
            literals[build.eq(build.select(memory, held), value)] = False
    return literals

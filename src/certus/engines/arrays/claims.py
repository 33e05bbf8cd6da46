"""Guess claims about all elements of an array that a loop has passed, from the formulas of the program.

A *pattern* is a formula about the elements at the index of a counter i: the value written there, `a[i] == e`,
conditions on inputs written there, and the condition of an error. A *stretch* is a range of indices between
initial constants of counters, terms they are compared with, and the counters themselves. A claim is a pattern
for all indices of a stretch, possibly under a condition on other variables:

    found == 0 and 0 <= j < i  ->  a[j] == e(j)          for all j
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Final

from certus.core import build
from certus.core.program import Edge, Program
from certus.core.terms import ArraySort, Expr, Kind, MachineSort, Sort
from certus.core.walk import postorder, substitute, variables
from certus.encoding.block_formula import BlockFormula

MOST: Final = 400  # limit of claims
CONDITIONS: Final = 6  # limit of conditions on other variables
PLACES: Final = 12  # limit of indices of a sort
COMPARISONS: Final = frozenset({Kind.EQ, Kind.LE, Kind.LT})
_ACCESSES: Final = frozenset({Kind.SELECT, Kind.STORE})

Step = tuple[Edge, BlockFormula]


@dataclass(frozen=True, eq=False)
class Claim:
    """The claim that `body` holds for all values of the variable `each`, if there is one. `objects`: they are
    numbers of objects; `kept`: all those of this region are tracked if it holds."""

    each: Expr | None
    body: Expr
    objects: bool = False
    kept: int | None = None

    def of(self, value: Expr) -> Expr:
        assert self.each is not None
        return substitute(self.body, {self.each: value})

    def some(self) -> Expr:
        """Return the claim for an arbitrary value."""
        return self.body if self.each is None else self.of(build.var("@some", self.each.sort))

    @cached_property
    def variables(self) -> frozenset[Expr]:
        return frozenset(variables(self.body)).difference((self.each,))

    @cached_property
    def formula(self) -> Expr:
        if self.each is None:
            return self.body
        return build.forall((self.each.sort,), self.of(build.bound(0, self.each.sort)))


@dataclass(slots=True, eq=False)
class Guesses:
    """The claims and their parts by sort: counters, terms in indices, initial constants of counters, and
    terms that counters are compared with."""

    counters: dict[Sort, dict[Expr, None]] = field(default_factory=dict)
    indices: dict[Sort, dict[Expr, None]] = field(default_factory=dict)
    starts: dict[Sort, dict[Expr, None]] = field(default_factory=dict)
    limits: dict[Sort, dict[Expr, None]] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    def places(self, sort: Sort) -> list[Expr]:
        """Return the indices of a sort for which steps assume claims."""
        parts = (self.counters, self.starts, self.indices)
        return list(dict.fromkeys(x for each in parts for x in each.get(sort, {})))[:PLACES]


def guess(program: Program, steps: Sequence[Step], excluded: frozenset[Expr] = frozenset()) -> Guesses:
    """Return the claims, none of them about the arrays `excluded`."""
    guesses = Guesses()
    for _, formula in steps:
        for i in _counters(*_terms(formula)):
            if i not in formula.symbols:
                guesses.counters.setdefault(i.sort, {})[i] = None
        for term in _index_terms(formula):
            guesses.indices.setdefault(term.sort, {})[term] = None
    for sort, counters in guesses.counters.items():
        values = (formula.values[i] for _, formula in steps for i in counters if i in formula.values)
        guesses.starts[sort] = {value: None for value in values if value.kind is Kind.CONST}
        guesses.limits[sort] = {limit: None for _, formula in steps for limit in _limits(formula, counters)}
    counting = frozenset(i for counters in guesses.counters.values() for i in counters)
    conditions = dict.fromkeys(c for _, formula in steps for c in _conditions(formula, counting))
    some_patterns = (p for step in steps for p in _patterns(program, step))
    patterns = dict.fromkeys(p for p in some_patterns if excluded.isdisjoint(variables(p)))
    under = (build.TRUE, *islice(conditions, CONDITIONS))
    all_claims = (claim for condition in under for claim in _claims(condition, patterns, guesses))
    claims = {(c.each, c.body): c for c in islice(all_claims, MOST)}
    guesses.claims = tuple(claims.values())
    return guesses


def _terms(formula: BlockFormula) -> tuple[Expr, ...]:
    return (*formula.values.values(), formula.guard, *formula.definitions)


def _counters(*terms: Expr) -> list[Expr]:
    """Return the variables that indices depend on."""
    return [x for x in variables(*_indices(*terms)) if isinstance(x.sort, MachineSort)]


def _indices(*terms: Expr) -> list[Expr]:
    return [term.args[1] for term in postorder(*terms) if term.kind in _ACCESSES]


def _index_terms(formula: BlockFormula) -> Iterator[Expr]:
    """Yield the terms that are converted to an index."""
    symbols = frozenset(formula.symbols)
    for cast in postorder(*_indices(*_terms(formula))):
        if cast.kind is Kind.WRAP and isinstance(cast.args[0].sort, MachineSort) and not reads(cast):
            term = cast.args[0]
            if term.kind is not Kind.VAR and symbols.isdisjoint(variables(term)):
                yield term


def comparisons(formula: BlockFormula) -> Iterator[Expr]:
    return (t for t in postorder(formula.guard, *formula.definitions) if t.kind in COMPARISONS)


def _limits(formula: BlockFormula, counters: Iterable[Expr]) -> Iterator[Expr]:
    """Yield the terms that counters are compared with."""
    counting = frozenset(counters)
    excluded = counting | frozenset(formula.symbols)
    for atom in comparisons(formula):
        for one, other in (atom.args, reversed(atom.args)):
            if one in counting and excluded.isdisjoint(variables(other)) and not reads(other):
                yield other


def _conditions(formula: BlockFormula, counting: frozenset[Expr]) -> Iterator[Expr]:
    """Yield comparisons of variables that are not counters, and their negations."""
    excluded = counting | frozenset(formula.symbols)
    for atom in comparisons(formula):
        about = variables(atom)
        if about and excluded.isdisjoint(about) and not reads(atom):
            yield from (atom, build.not_(atom))


def reads(term: Expr) -> bool:
    return any(part.kind in _ACCESSES for part in postorder(term))


# ---------------------------------------------------------------------------------------- patterns


def _patterns(program: Program, step: Step) -> Iterator[Expr]:
    """Yield formulas about elements in terms of the state before a step. The elements that inputs are written
    to stand for these inputs."""
    edge, formula = step
    symbols = frozenset(formula.symbols)
    written = list(written_elements(formula))
    inputs = dict(_inputs(written, symbols))
    formulas = [build.eq(element, value) for element, value in written]
    chosen = [atom for atom in comparisons(formula) if atom.kind is Kind.EQ and not reads(atom)]
    formulas += [build.or_(atom, p) for p in tuple(formulas) for a in chosen for atom in (a, build.not_(a))]
    formulas += comparisons(formula) if inputs else ()
    if edge.target in program.error_locations:
        conditions = [atom for atom in comparisons(formula) if reads(atom)]
        formulas += [build.not_(formula.guard), *conditions, *map(build.not_, conditions)]
    for term in formulas:
        pattern = substitute(term, inputs)
        if symbols.isdisjoint(variables(pattern)) and reads(pattern):
            yield pattern


def written_elements(formula: BlockFormula) -> Iterator[tuple[Expr, Expr]]:
    """Yield elements and the values written to them."""
    own = {x.name: x for x in formula.values if isinstance(x.sort, ArraySort)}
    for term in postorder(*_terms(formula)):
        if term.kind is Kind.STORE:
            root = _root(term)
            if root.kind is not Kind.VAR:
                continue  # the zeros of a new object, which belong to no array yet
            array = own.get(root.name) or own.get(root.name.rpartition("@")[0])
            if array is not None and array.sort is term.sort:
                yield build.select(array, term.args[1]), term.args[2]


def _root(array: Expr) -> Expr:
    while array.kind in (Kind.STORE, Kind.ITE):
        array = array.args[0] if array.kind is Kind.STORE else array.args[1]
    return array


def _inputs(written: Iterable[tuple[Expr, Expr]], symbols: frozenset[Expr]) -> Iterator[tuple[Expr, Expr]]:
    """Yield the inputs of a step with the elements they are written to."""
    for element, value in written:
        chosen = value.args[0] if value.kind is Kind.WRAP else value
        sort = chosen.sort
        if chosen in symbols and isinstance(sort, MachineSort) and symbols.isdisjoint(variables(element)):
            yield chosen, build.wrap(element, sort)


# ------------------------------------------------------------------------------------------- claims


def _claims(condition: Expr, patterns: Mapping[Expr, None], guesses: Guesses) -> Iterator[Claim]:
    """Yield claims of each pattern for all indices of each stretch, in place of each counter in it."""
    for pattern in patterns:
        for i in _counters(pattern):
            each = build.var("@each", i.sort)
            about = substitute(pattern, {i: each})
            for stretch in _stretches(each, guesses):
                yield Claim(each, build.implies(build.and_(condition, stretch), about))


def _stretches(each: Expr, guesses: Guesses) -> Iterator[Expr]:
    sort = each.sort
    counters, limits = list(guesses.counters.get(sort, {})), list(guesses.limits.get(sort, {}))
    for start in guesses.starts.get(sort, {}):
        for end in (*counters, *limits):
            yield build.and_(build.le(start, each), build.lt(each, end))
    for start in counters:
        for end in limits:
            yield build.and_(build.le(start, each), build.lt(each, end))
            yield build.and_(build.lt(start, each), build.lt(each, end))

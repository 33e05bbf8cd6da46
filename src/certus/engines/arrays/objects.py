"""Guess claims about all objects of a region of the heap: lists and queues of any length are well formed.

The objects have numbers, and every field that links them has a *holder*, the object that was last made to
point to another (`encoding.watching`). For an object a, a field `next` and variables x that hold addresses:

- closure: `next[a]` is null or a live object;
- inverse: `holder[next[a]] == a`, and `prev[next[a]] == a` for fields of doubly linked lists;
- order: `next[a] < a`, or `next[a] > a`;
- end: x is not the holder of a;
- kept: a is one of some variables, or its holder is live, points to it, and comes before it (or after it): so
  every object is reached from the variables;
- values: a field has a constant value, or closure and inverse hold unless it has (it marks the last node);
- variables: x is null or a live object; x has no live holder; `next[x]` is null; y is the holder of x.

Claims about all a have variants with the exceptions `a == x`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from certus.core import build
from certus.core.heap import Link, NumberedObjects
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder, variables
from certus.encoding.block_formula import BlockFormula
from certus.engines.arrays.claims import Claim

VARIABLES = 8  # most variables of a region in claims
FIXED = 3  # most constants that are objects of a region in claims
VALUES = 3  # most constants of a field in claims


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The objects of a region, the terms that are numbers of objects in it, and its fields without
    addresses, each with constants that are written to it or compared with it."""

    number: int
    objects: NumberedObjects
    terms: tuple[Expr, ...]
    values: Mapping[Expr, tuple[Expr, ...]]


def regions(objects: Mapping[int, NumberedObjects], formulas: Sequence[BlockFormula]) -> list[Region]:
    """Return the regions that a program uses, as the formulas of its edges show."""
    accessed = [(term, formula) for formula in formulas for term in accesses(formula)]
    used = []
    for number, each in objects.items():
        arrays = {x.name: x for x in each.arrays}
        fields = frozenset(each.fields)
        terms: dict[Expr, None] = {}
        values: dict[Expr, dict[Expr, None]] = {}
        for term, formula in accessed:
            memory = arrays.get(array_name(term))
            if memory is not None and _is_number(term.args[1], formula):
                terms[term.args[1]] = None
            if memory in fields and term.kind is Kind.STORE and term.args[2].kind is Kind.CONST:
                values.setdefault(memory, {})[term.args[2]] = None
        constants = {x: tuple(some)[:VALUES] for x, some in values.items()}
        _add_copies(terms, formulas)
        some = (*tuple(terms)[:VARIABLES], *_fixed(each, formulas))
        used.append(Region(number, each, some, constants))
    return used


def _fixed(objects: NumberedObjects, formulas: Sequence[BlockFormula]) -> list[Expr]:
    """Return the constants that are numbers of objects: some that are allocated once."""
    arrays = frozenset(x.name for x in objects.arrays)
    used = (term for formula in formulas for term in accesses(formula) if array_name(term) in arrays)
    numbers = dict.fromkeys(each for term in used for each in term.args[1:] if each.kind is Kind.CONST)
    first = objects.first
    allocated = (x for x in numbers if x.sort is first.sort and build.le(first, x) is build.TRUE)
    return list(islice(allocated, FIXED))


def _add_copies(terms: dict[Expr, None], formulas: Sequence[BlockFormula]) -> None:
    """Add the variables that are copies of numbers of objects, or are copied to them."""
    for formula in formulas:
        for x, value in formula.values.items():
            if value.kind is Kind.VAR and value not in formula.symbols and not _is_end(value):
                if value in terms:
                    terms[x] = None
                elif x in terms:
                    terms[value] = None


def accesses(formula: BlockFormula) -> list[Expr]:
    """Return the terms of the formula of an edge that read or write elements."""
    terms = postorder(formula.guard, *formula.definitions, *formula.values.values())
    return [term for term in terms if term.kind in (Kind.SELECT, Kind.STORE)]


def mentioned(formula: BlockFormula) -> list[Expr]:
    """Return the objects and elements that the formula of an edge mentions."""
    return list(dict.fromkeys(term.args[1] for term in accesses(formula)))


def array_name(term: Expr) -> str:
    """Return the name of the array that an element is read from or written to, before the block."""
    while term.kind in (Kind.SELECT, Kind.STORE, Kind.ITE):
        term = term.args[1 if term.kind is Kind.ITE else 0]
    return str(term.name).partition("@")[0]


def _is_number(term: Expr, formula: BlockFormula) -> bool:
    """Return whether a term is a variable of the state, perhaps without a phase."""
    read = variables(term)
    simple = term.kind is Kind.VAR or (
        term.kind is Kind.ADD and all(part.kind in (Kind.VAR, Kind.CONST) for part in term.args)
    )
    return simple and len(read) == 1 and read[0] not in formula.symbols and not _is_end(read[0])


def _is_end(x: Expr) -> bool:
    """Return whether a variable has the number of the next object, and no object has it."""
    return x.name.startswith("mem$brk$")


def claims(heap: Sequence[Region], roots: frozenset[Expr]) -> Iterator[Claim]:
    """Yield the claims about the objects of regions. Only `roots` keep objects reachable."""
    by_number = {region.number: region for region in heap}
    for region in heap:
        yield from _variable_claims(region, by_number)
        for link in region.objects.links:
            yield from _link_claims(region, link, by_number)
        yield from _value_claims(region)
        yield from kept_claims(region, by_number, roots)


# ------------------------------------------------------------------------------------- variables


def _null(term: Expr) -> Expr:
    """Return whether the address that a number of an object comes from is null."""
    x = next(iter(variables(term)), term)
    return build.eq(x, build.constant(0, x.sort))


def _variable_claims(region: Region, by_number: Mapping[int, Region]) -> Iterator[Claim]:
    objects, terms = region.objects, region.terms
    into = [
        link for each in by_number.values() for link in each.objects.links if link.target == region.number
    ]
    sources = {link.holder: by_number[n] for n in by_number for link in by_number[n].objects.links}
    for x in terms:
        live, null = objects.live(x), _null(x)
        yield Claim(None, live)
        yield Claim(None, build.or_(null, live))
        yield Claim(None, null)
        for link in into:
            holder, source = build.select(link.holder, x), sources[link.holder].objects
            ended = build.and_(build.lt(holder, source.end), build.not_(source.live(holder)))
            yield Claim(None, build.or_(null, ended))
        for link in objects.links:
            ends = build.eq(build.select(link.memory, x), build.constant(0, link.phase.sort))
            yield Claim(None, build.or_(null, ends))
        for y in terms:
            if y is not x:
                yield from _pair_claims(x, y, [each for each in into if sources[each.holder] is region])
    for x, y in combinations(terms, 2):
        yield Claim(None, build.eq(x, y))


def _pair_claims(x: Expr, y: Expr, own: Sequence[Link]) -> Iterator[Claim]:
    yield Claim(None, build.implies(_null(y), _null(x)))
    for link in own:
        yield Claim(None, build.or_(_null(x), build.eq(build.select(link.holder, x), y)))
        yield Claim(None, build.or_(_null(x), build.eq(link.object_of(y), x)))
        yield Claim(None, build.disjunction((_null(x), build.eq(x, y), build.eq(link.object_of(y), x))))


# ------------------------------------------------------------------------------------ all objects


def _link_claims(region: Region, link: Link, by_number: Mapping[int, Region]) -> Iterator[Claim]:
    objects, target = region.objects, by_number[link.target].objects
    a = build.var("@each", objects.first.sort)
    contents = build.select(link.memory, a)
    null = build.eq(contents, build.constant(0, contents.sort))
    held = link.object_of(a)
    patterns = [
        build.or_(null, target.live(held)),
        target.live(held),
        build.or_(null, build.eq(build.select(link.holder, held), a)),
    ]
    if link.target == region.number:
        patterns += (build.or_(null, build.lt(held, a)), build.or_(null, build.lt(a, held)))
    if link.target == region.number:
        holder = build.select(link.holder, a)
        for x in region.terms:
            yield Claim(a, build.implies(objects.live(a), build.ne(holder, x)), objects=True)
    patterns += (
        build.or_(null, build.eq(other.object_of(held), a))
        for other in target.links
        if other is not link and other.target == region.number
    )
    for pattern in patterns:
        yield from _with_exceptions(objects, a, pattern, region.terms)
    for value in _values(region, a):  # which marks the last node, for example
        for pattern in (patterns[1], patterns[2]):
            yield Claim(a, build.implies(objects.live(a), build.or_(value, pattern)), objects=True)


def _values(region: Region, a: Expr) -> list[Expr]:
    """Return the formulas that a field of an object has one of its constants."""
    constants = [(field, value) for field, some in region.values.items() for value in some]
    return [build.eq(build.select(field, a), value) for field, value in constants]


def _value_claims(region: Region) -> Iterator[Claim]:
    a = build.var("@each", region.objects.first.sort)
    for field, constants in region.values.items():
        same = [build.eq(build.select(field, a), value) for value in constants]
        for pattern in (*same, *([build.disjunction(same)] if len(same) > 1 else [])):
            yield from _with_exceptions(region.objects, a, pattern, region.terms)


def _with_exceptions(
    objects: NumberedObjects, a: Expr, pattern: Expr, terms: Iterable[Expr]
) -> Iterator[Claim]:
    live = objects.live(a)
    yield Claim(a, build.implies(live, pattern), objects=True)
    for x in terms:
        yield Claim(a, build.implies(build.and_(live, build.ne(a, x)), pattern), objects=True)


def kept_claims(region: Region, by_number: Mapping[int, Region], roots: frozenset[Expr]) -> Iterator[Claim]:
    """Yield the claims that every object of a region is kept: one of some variables, or held."""
    objects = region.objects
    a = build.var("@each", objects.first.sort)
    own = [x for x in region.terms if roots.issuperset(variables(x))]
    sets = [(), *((x,) for x in own), *combinations(own, 2), *combinations(own, 3)]
    from_others: list[Expr] = []
    upwards: list[Expr] = []
    downwards: list[Expr] = []
    for number, source in by_number.items():
        for link in source.objects.links:
            if link.target == region.number:
                holder = build.select(link.holder, a)
                holds = build.and_(source.objects.live(holder), build.eq(link.object_of(holder), a))
                if number != region.number:
                    from_others.append(holds)
                else:
                    upwards.append(build.and_(holds, build.lt(holder, a)))
                    downwards.append(build.and_(holds, build.lt(a, holder)))
    single = (*from_others, *upwards, *downwards)
    ways = (build.disjunction((*from_others, *own_ways)) for own_ways in (upwards, downwards))
    for some in dict.fromkeys((build.FALSE, *single, *ways)):
        for chosen in sets:
            same = [build.eq(a, x) for x in chosen]
            body = build.implies(objects.live(a), build.disjunction([some, *same]))
            yield Claim(a, body, objects=True, kept=region.number)

"""Find affine equations between variables, such as `dst == src` and `p + n == size + 4096` (Karr, "Affine
relationships among variables of a program", Acta Informatica 6, 1976).

The states at a location are enclosed in the smallest affine space that all steps preserve. It is spanned by
vectors. A vector has a coordinate for each variable and one for the constant, which is 1 if the vector is a
state and 0 if it is a direction. A step is a linear map of vectors for each combination of branches in it.
Values that are not affine are *unknowns*: they may be anything. Coordinates are computed modulo a large
prime, which avoids fractions.

The equations need not hold, because machine integers wrap modulo 2**bits. They are only claims for the
search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from certus.core import build
from certus.core.accounting import Budget
from certus.core.program import Location, Program
from certus.core.terms import Expr, Kind, MachineSort, keeps, machine
from certus.core.walk import completed, substitute
from certus.encoding.block_formula import BlockFormula, Merge
from certus.engines.arrays.claims import Step

PRIME: Final = (1 << 127) - 1
SMALL: Final = 1 << 64  # the coefficients of equations are below
MULTIPLES: Final = 16  # the largest factor that makes the coefficients of an equation integers
VARIABLES: Final = 80  # the most variables of a program

Vector = Mapping[Expr, int]  # without coordinates that are 0
_ONE: Final = build.integer(1)  # stands for the constant


def equations(
    program: Program, steps: Sequence[Step], known: Mapping[Location, Set[Expr]], budget: Budget
) -> dict[Location, list[Expr]]:
    """Return equations between the variables that are `known` at each location. Each equation expresses one
    variable by others, preferably by variables that few steps write."""
    written = dict.fromkeys(x for _, formula in steps for x in formula.values)
    names = [x for x in dict.fromkeys((*program.globals, *written)) if isinstance(x.sort, MachineSort)]
    if len(names) > VARIABLES:
        return {}
    names.sort(key=lambda x: sum(x in formula.values for _, formula in steps))
    by_location: dict[Location, list[Expr]] = {}
    for at, space in _spaces(program, steps, names, budget).items():
        if at in known:
            by_location[at] = list(_equations(space, [_ONE, *(x for x in names if x in known[at])]))
    return by_location


# -------------------------------------------------------------------------------------------- spaces


@dataclass(frozen=True, slots=True)
class _Space:
    """An affine space by its basis: each vector is 1 at its key, and all later vectors are 0 there."""

    basis: dict[Expr, Vector] = field(default_factory=dict)

    def add(self, vector: Vector, order: Iterable[Expr] | None = None) -> bool:
        """Add a vector; return whether it is new. Its key is the first coordinate in the order."""
        rest = reduce(_without, self.basis.items(), vector)
        if not rest:
            return False
        key = next(x for x in order or rest if x in rest)
        self.basis[key] = _sum({}, rest, pow(rest[key], -1, PRIME))
        return True


def _without(vector: Vector, of_basis: tuple[Expr, Vector]) -> Vector:
    """Return a vector minus the multiple of one of the basis that makes the coordinate at its key 0."""
    key, each = of_basis
    return _sum(vector, each, -vector[key]) if key in vector else vector


def _sum(one: Vector, other: Vector, factor: int = 1) -> Vector:
    total = dict(one)
    for x, value in other.items():
        total[x] = (total.get(x, 0) + factor * value) % PRIME
    return {x: value for x, value in total.items() if value}


def _spaces(
    program: Program, steps: Sequence[Step], names: Sequence[Expr], budget: Budget
) -> dict[Location, _Space]:
    """Return the space of each location that steps reach."""
    maps = [(edge, _Map.of(values, names)) for edge, formula in steps for values in _values(formula)]
    initial = {x: value for x, value in program.initial.items() if value.kind is Kind.CONST}
    start = {_ONE: 1} | {x: n % PRIME for x in names if x in initial and (n := _signed(initial[x]))}
    work: list[tuple[Location, Vector]] = [(program.entry, start)]
    work += ((program.entry, {x: 1}) for x in names if x not in initial)
    spaces: dict[Location, _Space] = {}
    while work:
        budget.check()
        at, vector = work.pop()
        if spaces.setdefault(at, _Space()).add(vector):
            for edge, each in maps:
                if edge.source is at and edge.target not in program.error_locations:
                    work += ((edge.target, image) for image in each.images(vector))
    return spaces


def _values(formula: BlockFormula) -> Iterator[dict[Expr, Expr]]:
    """Yield the values that a step writes: first with the first branch of all choices, then with each other
    branch of one choice. The results of all other combinations are in the affine space of these."""
    merges = [d for d in formula.defined if isinstance(d, Merge)]
    ways = dict.fromkeys(tuple(selector for selector, _ in merge.choices) for merge in merges)
    for chosen, branch in ((None, 0), *((way, n) for way in ways for n in range(1, len(way)))):
        taken: dict[Expr, Expr] = {}
        for merge in merges:
            same = tuple(selector for selector, _ in merge.choices) == chosen
            taken[merge.symbol] = substitute(merge.choices[branch if same else 0][1], taken)
        yield {x: substitute(value, taken) for x, value in formula.values.items()}


@dataclass(frozen=True, slots=True)
class _Map:
    """The linear map of a step: the values that it writes, and one direction for each unknown in them."""

    values: Mapping[Expr, Vector]
    directions: Sequence[Vector]

    @staticmethod
    def of(values: Mapping[Expr, Expr], names: Iterable[Expr]) -> _Map:
        forms: dict[Expr, Vector] = {}
        images = {x: completed(values[x], forms, lambda t: _form(t, forms)) for x in names if x in values}
        coordinates = {_ONE, *names}
        unknowns = dict.fromkeys(u for form in images.values() for u in form if u not in coordinates)
        directions = [{x: form[u] for x, form in images.items() if u in form} for u in unknowns]
        return _Map(images, directions)

    def images(self, vector: Vector) -> Iterator[Vector]:
        image = {x: value for x, value in vector.items() if x not in self.values}
        for x, form in self.values.items():
            value = sum(factor * vector[y] for y, factor in form.items() if y in vector) % PRIME
            image.update({x: value} if value else {})
        yield image
        yield from self.directions


def _form(term: Expr, forms: Mapping[Expr, Vector]) -> Vector:
    """Return a term as an affine sum, given those of its parts; a term that is not affine is an unknown."""
    sort, args = term.sort, term.args
    if not isinstance(sort, MachineSort):
        return {}
    if term.kind is Kind.CONST:
        return _sum({}, {_ONE: 1}, _signed(term))
    if term.kind is Kind.WRAP and isinstance(inner := args[0].sort, MachineSort):
        return forms[args[0]] if inner.width == sort.width or keeps(inner, sort) else {term: 1}
    if term.kind is Kind.ADD:
        return reduce(_sum, (forms[part] for part in args))
    if term.kind is Kind.SUB:
        return _sum(forms[args[0]], forms[args[1]], -1)
    if term.kind is Kind.NEG:
        return _sum({}, forms[args[0]], -1)
    if term.kind is Kind.MUL and args[0].kind is Kind.CONST:
        return _sum({}, forms[args[1]], _signed(args[0]))
    return {term: 1}


def change_of(x: Expr, value: Expr) -> int:
    """Return by how much a step changes a variable if its new value is an affine term: a constant, or 0 if
    there is none."""
    forms: dict[Expr, Vector] = {}
    change = _sum(completed(value, forms, lambda t: _form(t, forms)), {x: 1}, -1)
    return (change[_ONE] + SMALL) % PRIME - SMALL if tuple(change) == (_ONE,) else 0


def _signed(constant: Expr) -> int:
    assert isinstance(constant.sort, MachineSort)
    return machine(constant.sort.width, signed=True).wrap(int(constant.value))


# ----------------------------------------------------------------------------------------- equations


def _equations(space: _Space, names: Sequence[Expr]) -> Iterator[Expr]:
    """Yield the equations between `names` that hold in a space. The variables that are keys of its basis are
    independent; each other variable is a sum of them."""
    own = _Space()
    for vector in space.basis.values():
        own.add({x: value for x, value in vector.items() if x in names}, names)
    reduced: dict[Expr, Vector] = {}
    for key, vector in reversed(own.basis.items()):
        reduced[key] = reduce(_without, reduced.items(), vector)
    for x in names:
        if x not in reduced:
            parts = {key: vector[x] for key, vector in reduced.items() if x in vector}
            equation = _equation(x, parts)
            if equation is not None:
                yield equation


def _equation(x: Expr, parts: Vector) -> Expr | None:
    """Return the equation of a multiple of `x` and a sum of `parts` with integer coefficients; None if these
    would be too large."""
    sorts = [y.sort for y in (x, *parts) if isinstance(y.sort, MachineSort)]
    sort = machine(max(each.width for each in sorts), signed=False)
    for factor in range(1, MULTIPLES + 1):
        numbers = {y: (factor * value + SMALL) % PRIME - SMALL for y, value in parts.items()}
        if all(number < SMALL for number in numbers.values()):
            left = {x: factor, **{y: -number for y, number in numbers.items() if number < 0}}
            right = {y: number for y, number in numbers.items() if number > 0}
            return build.eq(_total(left, sort), _total(right, sort))
    return None


def _total(numbers: Vector, sort: MachineSort) -> Expr:
    total = build.constant(0, sort)
    for x, factor in numbers.items():
        value = build.constant(1, sort) if x is _ONE else build.wrap(x, sort)
        total = build.add(total, build.mul(build.constant(sort.wrap(factor), sort), value))
    return total

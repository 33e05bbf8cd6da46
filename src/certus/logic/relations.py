"""Relations between vectors of integers, held by isl: what path edges and summary edges are made of.

A `Relation` has input and output columns, known by position. It is a union of *disjuncts*, each the integer
points of a polyhedron, with remainders. All operations are exact; only `closure` and `hull` may give
more than was asked for, and say so. `Relations` makes them, counts operations and measures isl's CPU time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time
from typing import Final, TypeVar

import islpy as isl

from certus.core import build
from certus.core.budget import Budget
from certus.core.sorts import BOOL, MachineSort
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.logic.hulls import inequalities, octagon
from certus.logic.presburger import TooHard, quota, solutions, value

IN, OUT, DIV, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.div, isl.dim_type.set
OPERATIONS = 1_000_000  # of isl in one operation; less than a second
HULL_OPERATIONS = 100_000  # of many columns they are not worth it
CLOSURE_OPERATIONS = 400_000  # they are not worth more: exact ones come quickly
SIMPLE = 2  # disjuncts whose closure isl comes to an end with
LOST = 3  # closures that are waited for in vain
LEGIBLE = 100_000  # characters of a closure; longer ones are of no use
COALESCED = 100  # disjuncts of a formula, at most: coalescing is quadratic
POWERS = 4  # closures of M, M^2 .. are tried

T = TypeVar("T")


Apart = Callable[[Callable[[], bytes]], bytes | None]


class Relations:
    """The maker of relations: one isl context, and the statistics of its work. `apart` computes something in
    a way that can be stopped, and gives None if it had to be."""

    def __init__(self, statistics: Statistics, budget: Budget, apart: Apart | None = None) -> None:
        self.context: Final = isl.Context()
        self.statistics: Final = statistics
        self.budget = budget
        self._apart: Final = apart
        self._lost = 0  # closures that had to be stopped

    @contextmanager
    def within(self, budget: Budget) -> Iterator[None]:
        """Work under another budget for a while."""
        before, self.budget = self.budget, budget
        try:
            yield
        finally:
            self.budget = before

    def measured(self, what: str, operation: Callable[[], T], operations: int = OPERATIONS) -> T:
        """The result of one operation of isl, counted and timed; `TooHard` if it takes too long."""
        self.budget.check()
        self.statistics.counters[f"linear.{what}"] += 1
        start = process_time()
        try:
            with quota(self.context, operations):
                return operation()
        finally:
            seconds = self.statistics.seconds
            seconds["linear.isl"] = seconds.get("linear.isl", 0.0) + process_time() - start

    def of(self, formulas: Sequence[Expr], inputs: Sequence[Expr], outputs: Sequence[Expr]) -> Relation:
        """The values of the columns for which some values of all other variables satisfy the formulas."""
        found = self.measured("relations", lambda: solutions(formulas, (*inputs, *outputs), self.context))
        return Relation(self, _split(found.set, len(inputs)), exact=found.exact)

    def none(self, inputs: int, outputs: int) -> Relation:
        return Relation(self, isl.Map.empty(isl.Space.alloc(self.context, 0, inputs, outputs)))

    def union(self, parts: Sequence[Relation], inputs: int, outputs: int) -> Relation:
        """The pairs of all parts, by halves: each union copies its arguments."""
        while len(parts) > 1:
            pairs = [a.union(b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*pairs, *parts[2 * len(pairs) :]]
        return parts[0] if parts else self.none(inputs, outputs)

    def identity(self, columns: int) -> Relation:
        return Relation(self, isl.Map.identity(_space(self.context, columns)))

    def every(self, inputs: int, outputs: int) -> Relation:
        return Relation(self, isl.Map.universe(isl.Space.alloc(self.context, 0, inputs, outputs)))

    def closures(self, steps: Mapping[tuple[str, str], Relation]) -> dict[tuple[str, str], Relation]:
        """One or more steps from one kind of vector to another; `steps` are between the kinds. `TooHard` if
        there is no hope of a closure.

        Where the closure of the steps M is inexact those of M^2, M^3 .. may be exact: then M+ is up to
        p steps, or (M^p)+ and less than p further ones."""
        exact = all(step.exact for step in steps.values())
        single = isl.UnionMap.empty(isl.Space.params_alloc(self.context, 0))
        for (source, target), step in steps.items():
            single = single.union(isl.UnionMap.from_map(_named(step.map, source, target)))
        found, tight = self._closed(single)
        kinds = {(a, d): (s, t) for (a, _), s in steps.items() for (_, d), t in steps.items()}
        return {
            (a, d): Relation(self, _unnamed(found, s.map, t.map, a, d), exact=exact and tight)
            for (a, d), (s, t) in kinds.items()
        }

    def _closed(self, single: isl.UnionMap) -> tuple[isl.UnionMap, bool]:
        """The closure of steps, and whether it is exact. isl may look for that of several disjuncts
        without end, and without counting operations: this is done apart."""
        if self._apart is None or _parts(single) <= SIMPLE:
            closed = self.measured("closures", lambda: _plus(single), CLOSURE_OPERATIONS)
        elif self._lost < LOST:
            self.budget.check()
            self.statistics.count("linear.closures")
            closed = self._read(self._apart(lambda: self._written(single)))
        else:
            closed = None
        if closed is None:
            raise TooHard
        return closed

    def _written(self, single: isl.UnionMap) -> bytes:
        try:
            with quota(self.context, CLOSURE_OPERATIONS):
                closed = _plus(single)
        except TooHard:
            return b""
        return b"" if closed is None else f"{closed[1]:d}{closed[0]}".encode()

    def _read(self, text: bytes | None) -> tuple[isl.UnionMap, bool] | None:
        if text is None:
            self._lost += 1
            return None
        if not 0 < len(text) <= LEGIBLE:
            return None
        return isl.UnionMap.read_from_str(self.context, text[1:].decode()), text[:1] == b"1"


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A set of pairs of vectors, or with `exact` false a set that includes those meant."""

    maker: Relations
    map: isl.Map
    exact: bool = True

    # ------------------------------------------------------------------------------ operations

    def _made(self, what: str, operation: Callable[[], isl.Map], *others: Relation) -> Relation:
        exact = self.exact and all(other.exact for other in others)
        return Relation(self.maker, self.maker.measured(what, operation), exact=exact)

    def then(self, other: Relation) -> Relation:
        """x to z, where this relates x to some y and the other this y to z."""
        return self._made("joins", lambda: self.map.apply_range(other.map), other)

    def union(self, other: Relation) -> Relation:
        return self._made("unions", lambda: self.map.union(other.map), other)

    def reverse(self) -> Relation:
        return self._made("reversals", self.map.reverse)

    def coalesced(self) -> Relation:
        """The same pairs, with fewer disjuncts where isl finds a way."""
        return self._made("coalescings", self.map.coalesce)

    def starting(self, states: Relation) -> Relation:
        """The pairs whose first columns are an output of `states`."""

        def restrict() -> isl.Map:
            allowed = states.map.range()
            return self.map.intersect_domain(allowed.add_dims(SET, self.inputs - allowed.dim(SET)))

        return self._made("joins", restrict, states)

    def ending(self, states: Relation) -> Relation:
        """The pairs whose second vector is an input of `states`."""
        return self._made("joins", lambda: self.map.intersect_range(states.map.domain()), states)

    def loops(self) -> Relation:
        """Each output related to itself."""
        same = isl.Map.identity(self.map.range().get_space().map_from_set())
        return self._made("joins", lambda: same.intersect_domain(self.map.range()))

    def columns(self, inputs: Sequence[int], outputs: Sequence[int]) -> Relation:
        """The pairs with only the columns given, in this order; the others are forgotten."""

        def select() -> isl.Map:
            found = self.map
            for kind, kept in ((IN, inputs), (OUT, outputs)):
                found = _selected(found, kind, kept)
            return found

        return self._made("projections", select)

    def spread(self, inputs: Sequence[int], outputs: Sequence[int], wide: tuple[int, int]) -> Relation:
        """The pairs of vectors with `wide` many columns whose columns given are a pair of this relation."""

        def extend() -> isl.Map:
            first, last = (
                _selected(isl.Map.identity(_space(self.maker.context, count)), OUT, kept)
                for count, kept in zip(wide, (inputs, outputs), strict=True)
            )
            return first.apply_range(self.map).apply_range(last.reverse())

        return self._made("projections", extend)

    def meet(self, other: Relation) -> Relation:
        """The pairs that are in both."""
        return self._made("meets", lambda: self.map.intersect(other.map), other)

    def beside(self, other: Relation) -> Relation:
        """(x, u) to (y, v), where this relates x to y and the other u to v."""
        return self._made("products", lambda: self.map.flat_product(other.map), other)

    def both(self, other: Relation) -> Relation:
        """x to (y, v), where this relates x to y and the other x to v."""
        return self._made("products", lambda: self.map.flat_range_product(other.map), other)

    def paired(self, step: Relation, inputs: int) -> Relation:
        """The pairs of this relation as vectors, taken one step further; `inputs` columns of a result are
        its inputs."""

        def follow() -> isl.Map:
            return _split(self.map.wrap().flatten().apply(step.map), inputs)

        return self._made("joins", follow, step)

    def unchanged(self) -> tuple[int, ...]:
        """The columns that every pair keeps."""
        every = isl.Map.universe(self.map.get_space())
        columns = range(self.map.dim(IN))
        return tuple(c for c in columns if self.map.is_subset(every.equate(IN, c, OUT, c)))

    def agreeing(self, states: Relation, columns: Sequence[int]) -> Relation:
        """The pairs that start where some output of `states` has the same values in `columns`."""
        others = [c for c in range(self.map.dim(IN)) if c not in columns]

        def restrict() -> isl.Map:
            allowed = states.map.range()
            for column in others:
                allowed = allowed.eliminate(SET, column, 1)
            return self.map.intersect_domain(allowed)

        return self._made("meets", restrict, states)

    # ------------------------------------------------------------------------------- questions

    @property
    def inputs(self) -> int:
        """The number of input columns."""
        return int(self.map.dim(IN))

    def is_empty(self) -> bool:
        return bool(self.maker.measured("emptiness", self.map.is_empty))

    def entails(self, other: Relation) -> bool:
        """Whether every pair is one of the other."""
        return bool(self.maker.measured("entailments", lambda: self.map.is_subset(other.map)))

    @property
    def size(self) -> int:
        """The number of disjuncts."""
        return int(self.map.n_basic_map())

    def disjuncts(self) -> Iterator[Relation]:
        for part in self.map.get_basic_maps():
            if not part.plain_is_empty():
                yield Relation(self.maker, isl.Map.from_basic_map(part), exact=self.exact)

    def fixed(self) -> tuple[int | None, ...]:
        """For each column, inputs first, the one value that stands plainly in the constraints."""
        found: list[int | None] = []
        for kind in (IN, OUT):
            for number in range(self.map.dim(kind)):
                constant = self.map.plain_get_val_if_fixed(kind, number)
                found.append(int(constant.to_python()) if constant.is_int() else None)
        return tuple(found)

    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """One pair, of small numbers if the relation has such; None if it is empty."""
        return self.maker.measured("samples", lambda: _sample(self.map))

    def fixing(self, inputs: Mapping[int, int], outputs: Mapping[int, int]) -> Relation:
        """The pairs whose columns have these values."""

        def restrict() -> isl.Map:
            found = self.map
            for kind, given in ((IN, inputs), (OUT, outputs)):
                for number, constant in given.items():
                    found = found.fix_val(kind, number, value(constant, self.maker.context))
            return found

        return self._made("meets", restrict)

    # ------------------------------------------------------------------------------- closures

    def closure(self) -> Relation:
        """One or more steps, all of one kind."""
        return self.maker.closures({("", ""): self})["", ""]

    def hull(self) -> Relation:
        """One disjunct around all of them: the convex hull, or if that takes too long a looser one."""
        pairs = self.map.wrap().flatten()
        try:
            hull = self.maker.measured("hulls", pairs.convex_hull, HULL_OPERATIONS)
        except TooHard:
            hull = self.maker.measured("hulls", pairs.simple_hull)
        return Relation(self.maker, _split(isl.Set.from_basic_set(hull), self.inputs), exact=False)

    def widened(self, later: Relation, thresholds: Sequence[Relation]) -> Relation:
        """What holds of this disjunct and of `later` too: its constraints, the bounds of its columns, their
        sums and differences, and the thresholds."""

        def widen() -> isl.Map:
            before, after = (relation.map.wrap().flatten() for relation in (self, later))
            found = isl.Set.universe(before.get_space())
            for constraint in inequalities(before):
                if after.is_subset(constraint):
                    found = found.intersect(constraint)
            for bound in octagon(before, after):
                found = found.intersect(bound)
            widened = _split(found, self.inputs)
            for threshold in thresholds:
                if self.map.is_subset(threshold.map) and later.map.is_subset(threshold.map):
                    widened = widened.intersect(threshold.map)
            return widened.remove_redundancies()

        return Relation(self.maker, self.maker.measured("widenings", widen), exact=False)

    # ------------------------------------------------------------------------------ as formulas

    def formula(self, inputs: Sequence[Expr], outputs: Sequence[Expr]) -> Expr:
        """The condition on the columns, as variables of their sorts."""
        pairs = self.map.coalesce() if self.size <= COALESCED else self.map
        plain = self.maker.measured("formulas", lambda: pairs.compute_divs().wrap().flatten())
        columns = [_number(x) for x in (*inputs, *outputs)]
        return build.disjunction(_conjunction(part, columns) for part in plain.get_basic_sets())


def _parts(steps: isl.UnionMap) -> int:
    maps = steps.get_map_list()
    return sum(int(maps.get_at(i).n_basic_map()) for i in range(maps.n_map()))


def _plus(single: isl.UnionMap) -> tuple[isl.UnionMap, bool] | None:
    """The closure of the steps, and whether it is exact; None if it is not worth trying."""
    power, some = single, single
    loose: isl.UnionMap | None = None
    for number in range(1, POWERS + 1):
        steps = power.get_map_list()
        if all(_shifts(steps.get_at(i)) for i in range(steps.n_map())):
            plus, exact = power.coalesce().transitive_closure()
            if exact:
                for _ in range(number - 1):
                    plus = plus.union(plus.apply_range(single))
                return some.union(plus).coalesce(), True
            loose = loose or (plus if number == 1 else None)
        power = power.apply_range(single)
        some = some.union(power)
    return None if loose is None else (loose, False)


def _shifts(step: isl.Map) -> bool:
    """Whether every output is an input plus a constant, a constant, or bounded only by inequalities.

    Other closures are no finite union of polyhedra, and isl may look for one without end, uncounted."""
    inputs, outputs = step.dim(IN), step.dim(OUT)
    for number in range(outputs):
        alone = step.project_out(OUT, number + 1, outputs - number - 1).project_out(OUT, 0, number)
        for part in alone.wrap().flatten().get_basic_sets():
            for constraint in part.detect_equalities().get_constraints():
                if constraint.is_equality() and not _shift(constraint, inputs):
                    return False
    return True


def _shift(constraint: isl.Constraint, inputs: int) -> bool:
    """Whether an equality says nothing of the output, or that it is at most one input, plus a constant."""
    factors = [constraint.get_coefficient_val(SET, column) for column in range(inputs + 1)]
    if factors[-1].is_zero():
        return True
    used = [factor for factor in factors if not factor.is_zero()]
    return len(used) <= 2 and all(factor.abs().is_one() for factor in used)


def _space(context: isl.Context, columns: int) -> isl.Space:
    """Of relations between vectors of one length."""
    return isl.Space.alloc(context, 0, columns, columns)


def _named(pairs: isl.Map, source: str, target: str) -> isl.Map:
    return pairs.set_tuple_name(IN, f"{source}_").set_tuple_name(OUT, f"{target}_")


def _unnamed(found: isl.UnionMap, first: isl.Map, last: isl.Map, source: str, target: str) -> isl.Map:
    """The part of `found` from the inputs of `first` to the outputs of `last`."""
    context = found.get_ctx()
    space = isl.Space.alloc(context, 0, first.dim(IN), last.dim(OUT))
    named = space.set_tuple_name(IN, f"{source}_").set_tuple_name(OUT, f"{target}_")
    return found.extract_map(named).reset_tuple_id(IN).reset_tuple_id(OUT)


def _split(elements: isl.Set, inputs: int) -> isl.Map:
    """The set of vectors as a relation: the first columns are its inputs."""
    return isl.Map.from_domain(elements).move_dims(OUT, 0, IN, inputs, elements.dim(SET) - inputs)


def _selected(pairs: isl.Map, kind: isl.dim_type, kept: Sequence[int]) -> isl.Map:
    """The columns `kept` of one side, in order; a column may be asked for only once."""
    count = pairs.dim(kind)
    if list(kept) == list(range(count)):
        return pairs
    found = pairs.add_dims(kind, len(kept))
    for number, column in enumerate(kept):
        found = found.equate(kind, count + number, kind, column)
    return found.project_out(kind, 0, count)


def _sample(pairs: isl.Map) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    inputs = pairs.dim(IN)
    elements = pairs.wrap().flatten()
    if elements.is_empty():
        return None
    count = elements.dim(SET)
    for number in range(count):  # zeros and ones are what people like to see
        for constant in (0, 1):
            smaller = elements.fix_val(SET, number, value(constant, elements.get_ctx()))
            if not smaller.is_empty():
                elements = smaller
                break
    point = elements.sample_point()
    numbers = [int(point.get_coordinate_val(SET, i).to_python()) for i in range(count)]
    return tuple(numbers[:inputs]), tuple(numbers[inputs:])


def _number(column: Expr) -> Expr:
    if column.sort is BOOL:
        return build.ite(column, build.integer(1), build.integer(0))
    return build.to_int(column) if isinstance(column.sort, MachineSort) else column


def _conjunction(part: isl.BasicSet, columns: Sequence[Expr]) -> Expr:
    """The constraints of a disjunct; its remainders are written with integer division."""
    divisions: list[Expr] = []
    for number in range(part.dim(DIV)):
        floor = part.get_div(number)
        denominator = floor.get_denominator_val()
        whole = _affine(floor.scale_val(denominator), columns, divisions)
        divisions.append(build.div(whole, build.integer(int(denominator.to_python()))))
    zero = build.integer(0)
    parts = []
    for constraint in part.get_constraints():
        total = _affine(constraint.get_aff(), columns, divisions)
        parts.append(build.eq(total, zero) if constraint.is_equality() else build.ge(total, zero))
    return build.conjunction(parts)


def _affine(aff: isl.Aff, columns: Sequence[Expr], divisions: Sequence[Expr]) -> Expr:
    """An affine function with integer coefficients as a term."""
    total = [build.integer(int(aff.get_constant_val().to_python()))]
    for kind, terms in ((IN, columns), (DIV, divisions)):
        for number, term in enumerate(terms[: aff.dim(kind)]):
            factor = int(aff.get_coefficient_val(kind, number).to_python())
            if factor:
                total.append(build.scale(factor, term))
    return build.add(*total) if len(total) > 1 else total[0]

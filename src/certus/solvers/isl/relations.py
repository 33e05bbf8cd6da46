"""Represent path edges and summary edges as isl relations between integer vectors.

A `Relation` has input and output columns, identified by position. It is a union of *disjuncts*; each is the
set of integer points of a polyhedron, possibly with divisibility constraints. All operations are exact except
`closure`, `hull` and `widened`, which may over-approximate and then set `exact` to false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from time import process_time
from typing import Final, TypeVar

import islpy as isl

from certus.core.accounting import Budget, Statistics
from certus.core.terms import Expr
from certus.solvers.isl.formulas import formula_of
from certus.solvers.isl.presburger import TooHard, quota, solutions, value

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
OPERATIONS = 1_000_000  # isl's limit for one call; takes less than a second
HULL_OPERATIONS = 100_000  # limit for a convex hull: over many columns it is not worth more
CLOSURE_OPERATIONS = 400_000  # limit for a closure: isl computes exact ones quickly or not at all
SIMPLE = 2  # number of disjuncts up to which isl's closure terminates
LOST = 3  # after this many interrupted closures no further one is started
LEGIBLE = 100_000  # characters of a closure; longer ones are useless
COALESCED = 100  # most disjuncts of a formula that are coalesced: coalescing is quadratic
POWERS = 4  # closures of M, M^2, ... up to this power are tried

T = TypeVar("T")
Isolated = Callable[[Callable[[], bytes]], bytes | None]


class Relations:
    """A factory of relations, which counts and times operations. `isolated` runs a computation so that it
    can be interrupted, and returns None if it was."""

    def __init__(self, statistics: Statistics, budget: Budget, isolated: Isolated | None = None) -> None:
        self.context: Final = isl.Context()
        self.statistics: Final = statistics
        self.budget = budget
        self._isolated: Final = isolated
        self._lost = 0  # interrupted closures

    @contextmanager
    def within(self, budget: Budget) -> Iterator[None]:
        """Use another budget inside the `with` block."""
        before, self.budget = self.budget, budget
        try:
            yield
        finally:
            self.budget = before

    def measured(self, what: str, operation: Callable[[], T], operations: int = OPERATIONS) -> T:
        """Run one isl operation, counted and timed; raise `TooHard` if it exceeds its quota."""
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
        """Return the column values that satisfy the formulas for some values of all other variables."""
        solved = self.measured("relations", lambda: solutions(formulas, (*inputs, *outputs), self.context))
        return Relation(self, _split(solved.set, len(inputs)), exact=solved.exact)

    def none(self, inputs: int, outputs: int) -> Relation:
        return Relation(self, isl.Map.empty(isl.Space.alloc(self.context, 0, inputs, outputs)))

    def union(self, parts: Sequence[Relation], inputs: int, outputs: int) -> Relation:
        """Unite all parts as a balanced tree, because each union copies its arguments."""
        while len(parts) > 1:
            pairs = [a.union(b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
            parts = [*pairs, *parts[2 * len(pairs) :]]
        return parts[0] if parts else self.none(inputs, outputs)

    def identity(self, columns: int) -> Relation:
        return Relation(self, isl.Map.identity(_space(self.context, columns)))

    def every(self, inputs: int, outputs: int) -> Relation:
        return Relation(self, isl.Map.universe(isl.Space.alloc(self.context, 0, inputs, outputs)))

    def closures(self, steps: Mapping[tuple[str, str], Relation]) -> dict[tuple[str, str], Relation]:
        """Return the relations of one or more steps; keys name the kinds of the input and output vectors.
        Raises `TooHard` if no closure can be computed.

        Where isl's closure of the steps M is inexact, that of a power M^p may be exact. Then M+ is the union
        of M, ..., M^p and of (M^p)+ followed by fewer than p further steps."""
        exact = all(step.exact for step in steps.values())
        single = isl.UnionMap.empty(isl.Space.params_alloc(self.context, 0))
        for (source, target), step in steps.items():
            single = single.union(isl.UnionMap.from_map(_named(step.map, source, target)))
        closed, tight = self._closed(single)
        kinds = {(a, d): (s, t) for (a, _), s in steps.items() for (_, d), t in steps.items()}
        return {
            (a, d): Relation(self, _unnamed(closed, s.map, t.map, a, d), exact=exact and tight)
            for (a, d), (s, t) in kinds.items()
        }

    def _closed(self, single: isl.UnionMap) -> tuple[isl.UnionMap, bool]:
        """Return the closure of the steps and whether it is exact. For several disjuncts isl may run forever
        without counting operations, so the computation is isolated."""
        if self._isolated is None or _parts(single) <= SIMPLE:
            closed = self.measured("closures", lambda: _plus(single), CLOSURE_OPERATIONS)
        elif self._lost < LOST:
            self.budget.check()
            self.statistics.count("linear.closures")
            closed = self._read(self._isolated(lambda: self._written(single)))
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
    """A set of pairs of vectors; if not `exact`, a superset of the intended pairs."""

    maker: Relations
    map: isl.Map
    exact: bool = True

    # ------------------------------------------------------------------------------ operations

    def _made(self, what: str, operation: Callable[[], isl.Map], *others: Relation) -> Relation:
        exact = self.exact and all(other.exact for other in others)
        return Relation(self.maker, self.maker.measured(what, operation), exact=exact)

    def then(self, other: Relation) -> Relation:
        """Relate x to z if this relates x to some y and the other relates y to z."""
        return self._made("joins", lambda: self.map.apply_range(other.map), other)

    def union(self, other: Relation) -> Relation:
        return self._made("unions", lambda: self.map.union(other.map), other)

    def reverse(self) -> Relation:
        return self._made("reversals", self.map.reverse)

    def coalesced(self) -> Relation:
        """Return the same pairs, with fewer disjuncts where isl can merge them."""
        return self._made("coalescings", self.map.coalesce)

    def starting(self, states: Relation) -> Relation:
        """Keep the pairs whose first input columns are an output of `states`."""

        def restrict() -> isl.Map:
            allowed = states.map.range()
            return self.map.intersect_domain(allowed.add_dims(SET, self.inputs - allowed.dim(SET)))

        return self._made("joins", restrict, states)

    def ending(self, states: Relation) -> Relation:
        """Keep the pairs whose output is an input of `states`."""
        return self._made("joins", lambda: self.map.intersect_range(states.map.domain()), states)

    def loops(self) -> Relation:
        """Relate each output to itself."""
        same = isl.Map.identity(self.map.range().get_space().map_from_set())
        return self._made("joins", lambda: same.intersect_domain(self.map.range()))

    def columns(self, inputs: Sequence[int], outputs: Sequence[int]) -> Relation:
        """Project the pairs to these columns, in this order."""

        def select() -> isl.Map:
            selected = self.map
            for kind, kept in ((IN, inputs), (OUT, outputs)):
                selected = _selected(selected, kind, kept)
            return selected

        return self._made("projections", select)

    def spread(self, inputs: Sequence[int], outputs: Sequence[int], wide: tuple[int, int]) -> Relation:
        """Return the pairs of vectors of lengths `wide` whose listed columns form a pair of this relation."""

        def extend() -> isl.Map:
            first, last = (
                _selected(isl.Map.identity(_space(self.maker.context, count)), OUT, kept)
                for count, kept in zip(wide, (inputs, outputs), strict=True)
            )
            return first.apply_range(self.map).apply_range(last.reverse())

        return self._made("projections", extend)

    def meet(self, other: Relation) -> Relation:
        """Return the intersection."""
        return self._made("meets", lambda: self.map.intersect(other.map), other)

    def beside(self, other: Relation) -> Relation:
        """Relate (x, u) to (y, v) if this relates x to y and the other relates u to v."""
        return self._made("products", lambda: self.map.flat_product(other.map), other)

    def both(self, other: Relation) -> Relation:
        """Relate x to (y, v) if this relates x to y and the other relates x to v."""
        return self._made("products", lambda: self.map.flat_range_product(other.map), other)

    def paired(self, step: Relation, inputs: int) -> Relation:
        """Apply `step` to the pairs of this relation, each taken as one vector; the first `inputs` columns of
        a resulting vector become its inputs."""

        def follow() -> isl.Map:
            return _split(self.map.wrap().flatten().apply(step.map), inputs)

        return self._made("joins", follow, step)

    def unchanged(self) -> tuple[int, ...]:
        """Return the columns that are equal in input and output of every pair."""
        every = isl.Map.universe(self.map.get_space())
        columns = range(self.map.dim(IN))
        return tuple(c for c in columns if self.map.is_subset(every.equate(IN, c, OUT, c)))

    def agreeing(self, states: Relation, columns: Sequence[int]) -> Relation:
        """Keep the pairs whose input agrees with some output of `states` in `columns`."""
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
        """Tell whether every pair is in the other relation."""
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
        """Return, for each column (inputs first), its value if the constraints state one explicitly."""
        values: list[int | None] = []
        for kind in (IN, OUT):
            for number in range(self.map.dim(kind)):
                constant = self.map.plain_get_val_if_fixed(kind, number)
                values.append(int(constant.to_python()) if constant.is_int() else None)
        return tuple(values)

    def pair(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return one pair, with zeros and ones where possible; None if the relation is empty."""
        return self.maker.measured("samples", lambda: _sample(self.map))

    def fixing(self, inputs: Mapping[int, int], outputs: Mapping[int, int]) -> Relation:
        """Keep the pairs whose columns have these values."""

        def restrict() -> isl.Map:
            restricted = self.map
            for kind, constants in ((IN, inputs), (OUT, outputs)):
                for number, constant in constants.items():
                    restricted = restricted.fix_val(kind, number, value(constant, self.maker.context))
            return restricted

        return self._made("meets", restrict)

    # ------------------------------------------------------------------------------- closures

    def closure(self) -> Relation:
        """Return the transitive closure."""
        return self.maker.closures({("", ""): self})["", ""]

    def hull(self) -> Relation:
        """Return one disjunct around all: the convex hull, or isl's simple hull if that is too hard."""
        pairs = self.map.wrap().flatten()
        try:
            hull = self.maker.measured("hulls", pairs.convex_hull, HULL_OPERATIONS)
        except TooHard:
            hull = self.maker.measured("hulls", pairs.simple_hull)
        return Relation(self.maker, _split(isl.Set.from_basic_set(hull), self.inputs), exact=False)

    def widened(self, later: Relation, thresholds: Sequence[Relation]) -> Relation:
        """Keep the constraints that hold of this disjunct and of `later`: those of this disjunct, bounds of
        its columns, of their sums and differences, and thresholds."""

        def widen() -> isl.Map:
            before, after = (relation.map.wrap().flatten() for relation in (self, later))
            kept = isl.Set.universe(before.get_space())
            for constraint in _inequalities(before):
                if after.is_subset(constraint):
                    kept = kept.intersect(constraint)
            for bound in _octagon(before, after):
                kept = kept.intersect(bound)
            widened = _split(kept, self.inputs)
            for threshold in thresholds:
                if self.map.is_subset(threshold.map) and later.map.is_subset(threshold.map):
                    widened = widened.intersect(threshold.map)
            return widened.remove_redundancies()

        return Relation(self.maker, self.maker.measured("widenings", widen), exact=False)

    # ------------------------------------------------------------------------------ as formulas

    def formula(self, inputs: Sequence[Expr], outputs: Sequence[Expr]) -> Expr:
        """Return the relation as a formula over the variables `inputs` and `outputs`."""
        pairs = self.map.coalesce() if self.size <= COALESCED else self.map
        plain = self.maker.measured("formulas", lambda: pairs.compute_divs().wrap().flatten())
        return formula_of(plain, (*inputs, *outputs))


def _parts(steps: isl.UnionMap) -> int:
    maps = steps.get_map_list()
    return sum(int(maps.get_at(i).n_basic_map()) for i in range(maps.n_map()))


def _plus(single: isl.UnionMap) -> tuple[isl.UnionMap, bool] | None:
    """Return the closure of the steps and whether it is exact; None if no attempt is promising."""
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
    """Tell whether every output is an input plus a constant, a constant, or bounded only by inequalities.

    Other closures are not finite unions of polyhedra, and isl may search for one without terminating."""
    inputs, outputs = step.dim(IN), step.dim(OUT)
    for number in range(outputs):
        alone = step.project_out(OUT, number + 1, outputs - number - 1).project_out(OUT, 0, number)
        for part in alone.wrap().flatten().get_basic_sets():
            for constraint in part.detect_equalities().get_constraints():
                if constraint.is_equality() and not _shift(constraint, inputs):
                    return False
    return True


def _shift(constraint: isl.Constraint, inputs: int) -> bool:
    """Tell whether an equality ignores the output, or makes it a constant plus at most one input."""
    factors = [constraint.get_coefficient_val(SET, column) for column in range(inputs + 1)]
    if factors[-1].is_zero():
        return True
    used = [factor for factor in factors if not factor.is_zero()]
    return len(used) <= 2 and all(factor.abs().is_one() for factor in used)


def _space(context: isl.Context, columns: int) -> isl.Space:
    """Return the space of relations between vectors of one length."""
    return isl.Space.alloc(context, 0, columns, columns)


def _named(pairs: isl.Map, source: str, target: str) -> isl.Map:
    return pairs.set_tuple_name(IN, f"{source}_").set_tuple_name(OUT, f"{target}_")


def _unnamed(closed: isl.UnionMap, first: isl.Map, last: isl.Map, source: str, target: str) -> isl.Map:
    """Return the part of `closed` from the inputs of `first` to the outputs of `last`."""
    space = isl.Space.alloc(closed.get_ctx(), 0, first.dim(IN), last.dim(OUT))
    named = space.set_tuple_name(IN, f"{source}_").set_tuple_name(OUT, f"{target}_")
    return closed.extract_map(named).reset_tuple_id(IN).reset_tuple_id(OUT)


def _split(elements: isl.Set, inputs: int) -> isl.Map:
    """Turn a set of vectors into a relation whose inputs are the first columns."""
    return isl.Map.from_domain(elements).move_dims(OUT, 0, IN, inputs, elements.dim(SET) - inputs)


def _selected(pairs: isl.Map, kind: isl.dim_type, kept: Sequence[int]) -> isl.Map:
    """Project one side to the columns `kept`, in this order; no column may occur twice."""
    count = pairs.dim(kind)
    if list(kept) == list(range(count)):
        return pairs
    selected = pairs.add_dims(kind, len(kept))
    for number, column in enumerate(kept):
        selected = selected.equate(kind, count + number, kind, column)
    return selected.project_out(kind, 0, count)


def _sample(pairs: isl.Map) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    inputs = pairs.dim(IN)
    elements = pairs.wrap().flatten()
    if elements.is_empty():
        return None
    count = elements.dim(SET)
    for number in range(count):  # small values make traces easier to read
        for constant in (0, 1):
            smaller = elements.fix_val(SET, number, value(constant, elements.get_ctx()))
            if not smaller.is_empty():
                elements = smaller
                break
    point = elements.sample_point()
    numbers = [int(point.get_coordinate_val(SET, i).to_python()) for i in range(count)]
    return tuple(numbers[:inputs]), tuple(numbers[inputs:])


def _inequalities(elements: isl.Set) -> Iterator[isl.Set]:
    """Yield the inequalities of a set, two for an equality, without divisibility constraints."""
    for part in elements.remove_divs().get_basic_sets():
        for constraint in part.get_constraints():
            aff = constraint.get_aff()
            for half in (aff, aff.neg()) if constraint.is_equality() else (aff,):
                yield _not_negative(half)


def _octagon(before: isl.Set, later: isl.Set) -> Iterator[isl.Set]:
    """Yield the bounds of columns, their sums and differences in `before` that also hold in `later`."""
    for direction in _directions(before.get_space()):
        bound = before.max_val(direction)
        if bound.is_int() and later.max_val(direction).le(bound):
            yield _not_negative(direction.neg().add_constant_val(bound))


def _directions(space: isl.Space) -> Iterator[isl.Aff]:
    local = isl.LocalSpace.from_space(space)
    columns = [isl.Aff.var_on_domain(local, SET, number) for number in range(space.dim(SET))]
    for column in columns:
        yield from (column, column.neg())
    for one, other in combinations(columns, 2):
        for sum_ in (one.add(other), one.sub(other)):
            yield from (sum_, sum_.neg())


def _not_negative(aff: isl.Aff) -> isl.Set:
    return isl.Set.from_basic_set(isl.BasicSet.from_constraint(isl.Constraint.inequality_from_aff(aff)))

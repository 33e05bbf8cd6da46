"""Compute the ranges of all variables of a program (`analyse`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from certus.analysis.ranges.essa import EssaForm, Scope, translate
from certus.analysis.ranges.float_operations import PATTERN, operate
from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.intervals import Propagation
from certus.analysis.ranges.operations import INFINITE, NOTHING, Bounds
from certus.analysis.ranges.strategy import StrategyIteration
from certus.analysis.ranges.system import Fixed, Join, Sum, Values, element, limits
from certus.core import build
from certus.core.accounting import Budget
from certus.core.intervals import Interval
from certus.core.program import Edge, Location, Program
from certus.core.terms import ArraySort, Expr, MachineSort, Sort

SystemSolver = Callable[[EssaForm, Values, Budget], tuple[Values, int]]  # with its number of linear programs
ROUNDS = 3  # of strategy iteration: each may find more dead branches, which makes the next more precise


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Values of the quantities of a constraint system as ranges of variables; facts only as `Ranges`."""

    essa: EssaForm
    values: Values

    @property
    def program(self) -> Program:
        return self.essa.program

    def reaches(self, location: Location) -> bool:
        """Return whether control may reach a location; true if the system has no state there."""
        state = self.essa.at.get(location)
        return state is None or self.values.has(state.gate)

    def at(self, location: Location) -> dict[Expr, Interval]:
        """Return the ranges of the live variables at a location with a state: of the conversion to the signed
        type if only that has a range; of elements for arrays. Those of floating point are in `floats_at`."""
        state, ranges = self.essa.at[location], {}
        for x, quantity in state.environment.items():
            if self.values.has(quantity) and not isinstance(self.quantity_sort(x), FloatOrder):
                term, range_ = self._in_own_sort(x, interval(self.values[quantity]))
                ranges[term] = range_
        return ranges

    def floats_at(self, location: Location) -> dict[Expr, tuple[FloatOrder, Bounds]]:
        """Return the ranks of the live floating-point variables at a location with a state."""
        ranges = {}
        for x, quantity in self.essa.at[location].environment.items():
            order = self.quantity_sort(x)
            if isinstance(order, FloatOrder) and self.values.has(quantity):
                ranges[x] = order, self.values[quantity]
        return ranges

    def _in_own_sort(self, x: Expr, range_: Interval) -> tuple[Expr, Interval]:
        """Return a term and its range for a variable with a range in its quantity sort."""
        sort, own = self.quantity_sort(x), element(x.sort)
        if sort is own or isinstance(x.sort, ArraySort):
            return x, converted(range_, own)
        assert isinstance(sort, MachineSort)
        own_range = converted(range_, own)
        return (x, own_range) if own_range != type_range(own) else (build.wrap(x, sort), range_)

    def quantity_sort(self, variable: Expr) -> Sort | FloatOrder:
        """Return the sort of the quantities of a variable, or of its elements: its own, the signed one that
        its bits are read as, or the order of floating-point numbers."""
        sort = self.essa.translation.quantity_sort(variable)
        return sort if isinstance(sort, FloatOrder) else element(sort)

    def of(self, variable: Expr) -> Interval | None:
        """Return the range of all values assigned to a variable; None if there are none."""
        range_, sort = self.quantity_range(variable), self.quantity_sort(variable)
        if range_ is None:
            return None
        if isinstance(sort, FloatOrder):
            return patterns(sort, range_)
        return converted(range_, element(variable.sort))

    def quantity_range(self, variable: Expr) -> Interval | None:
        """Return the range of all values assigned to a variable, in its quantity sort."""
        low, high = NOTHING
        for quantity in self.essa.defined.get(variable, ()):
            if self.values.has(quantity):
                low, high = min(low, self.values.low[quantity]), max(high, self.values.high[quantity])
        return interval((low, high)) if low <= high else None

    def is_input(self, variable: Expr) -> bool:
        """Return whether a variable is assigned an input unchanged, possibly through calls: any value of its
        type. An element of an array may have any value only because all elements share one quantity."""
        definitions = self.essa.system.definitions
        everything = limits(self.quantity_sort(variable))
        pending = list(self.essa.defined.get(variable, ()))
        seen = set(pending)
        while pending:
            quantity = pending.pop()
            if self.values[quantity] != everything:
                continue
            definition = definitions[quantity]
            if isinstance(definition, Fixed):
                return True
            forwarded: Sequence[int] = ()
            if isinstance(definition, Join):
                forwarded = self._open(definition)
            elif isinstance(definition, Sum) and quantity in self.essa.called:
                forwarded = [each for _, each in definition.terms]
            pending.extend(each for each in forwarded if each not in seen)
            seen.update(forwarded)
        return False

    def _open(self, join: Join) -> list[int]:
        """Return the operands whose gate is open."""
        pairs = zip(join.operands, join.gates, strict=True)
        return [operand for operand, gate in pairs if self.values.has(gate)]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges(Solution):
    """A solution of the constraint system of a program: valid at every location in every execution."""

    linear_programs: int = 0
    widened: int = 0  # quantities that had to be widened to satisfy the constraints
    not_linear: Mapping[int, Expr] | None = None

    def opaque(self) -> Iterator[tuple[Edge, Expr, Interval]]:
        """Yield the nonlinear operations, their edges, and the ranges of their results."""
        for quantity, term in self.essa.translation.opaque.items():
            edge = self.essa.edges.get(quantity)
            if edge is not None and self.values.has(quantity):
                yield edge, term, interval(self.values[quantity])


def interval(bounds: Bounds) -> Interval:
    low, high = bounds
    return Interval(None if low <= -INFINITE else low, None if high >= INFINITE else high)


def patterns(order: FloatOrder, ranks: Interval) -> Interval:
    """Return the range of the patterns of floating-point numbers, as integers."""
    assert ranks.low is not None
    assert ranks.high is not None
    return interval(operate(PATTERN, (order,), ((ranks.low, ranks.high),)))


def converted(range_: Interval, sort: Sort) -> Interval:
    """Convert a range to a sort of the same width: shifted if all numbers wrap alike, else the whole type."""
    if not isinstance(sort, MachineSort) or range_.low is None or range_.high is None:
        return range_
    low, high = sort.wrap(range_.low), sort.wrap(range_.high)
    return Interval(low, high) if high - low == range_.high - range_.low else type_range(sort)


def declared_bits(sort: Sort) -> int | None:
    """Return the bits of a variable, or of an element of an array; None if it is not a machine integer."""
    sort = element(sort)
    return sort.width if isinstance(sort, MachineSort) else None


def needed_bits(range_: Interval | None) -> int | None:
    """Return the bits that represent all numbers of a range; None if it is unbounded.

    A range of several numbers needs a sign if one of them is negative; a single number needs no bit."""
    if range_ is None:
        return 0
    if range_.low is None or range_.high is None:
        return None
    if range_.low == range_.high:
        return 0
    if range_.low >= 0:
        return range_.high.bit_length()
    return max((~range_.low).bit_length(), max(range_.high, 0).bit_length()) + 1


def by_strategy(essa: EssaForm, outer: Values, budget: Budget) -> tuple[Values, int]:
    """Solve the system by max-strategy iteration under the gates of `outer`."""
    iteration = StrategyIteration(essa.system, essa.translation.limits, outer)
    return iteration.solve(budget), iteration.programs


def analyse(
    program: Program,
    scope: Scope | None = None,
    *,
    budget: Budget | None = None,
    solver: SystemSolver = by_strategy,
) -> Ranges:
    """Return the ranges of a program without memory operations."""
    return solve(translate(program, scope), budget or Budget(), solver)


def solve(essa: EssaForm, budget: Budget, solver: SystemSolver = by_strategy) -> Ranges:
    """Find dead branches by intervals, then iterate `solver`, then check all constraints."""
    system = essa.system
    propagation = Propagation(system, essa.translation)
    outer = propagation.intervals(budget)
    programs = widened = 0
    for _ in range(ROUNDS):
        inner, count = solver(essa, outer, budget)
        programs += count
        widened += propagation.settle(inner, budget)
        inner = propagation.reached(inner)
        fewer = sum(map(inner.has, range(len(system)))) < sum(map(outer.has, range(len(system))))
        outer = inner
        if not fewer:
            break
    widened += propagation.settle(outer, budget)
    propagation.narrow(outer)
    return Ranges(essa, outer, programs, widened, essa.translation.opaque)


def type_range(sort: Sort) -> Interval:
    return interval(limits(sort))

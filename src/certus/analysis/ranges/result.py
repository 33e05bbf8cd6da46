"""`analyse`: the ranges of all variables of a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from certus.analysis.ranges.essa import Scope, Version, translate
from certus.analysis.ranges.intervals import Propagation
from certus.analysis.ranges.operations import INFINITE, Bounds
from certus.analysis.ranges.strategy import StrategyIteration
from certus.analysis.ranges.system import NOTHING, Fixed, Join, Sum, Values, element, limits
from certus.core import build
from certus.core.budget import Budget
from certus.core.program import Edge, Location, Program
from certus.core.sorts import ArraySort, MachineSort, Sort
from certus.core.terms import Expr
from certus.logic.intervals import Interval

Solver = Literal["strategy", "milp"]
ROUNDS = 3  # of strategy iteration: each may find more branches dead, and the next be more precise


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Values of the quantities of a constraint system, read as ranges of variables. It is a fact of the
    program only as `Ranges`."""

    version: Version
    values: Values

    @property
    def program(self) -> Program:
        return self.version.program

    def reaches(self, location: Location) -> bool:
        """Whether control may come to a location; one whose state was not kept may be reached."""
        state = self.version.at.get(location)
        return state is None or self.values.has(state.gate)

    def at(self, location: Location) -> dict[Expr, Interval]:
        """The ranges at a location whose state was kept, of its live variables; or of the conversion to the
        signed type, where only that has a range. Of arrays, it is the range of elements."""
        state, found = self.version.at[location], {}
        for x, quantity in state.environment.items():
            if self.values.has(quantity):
                term, range_ = self._told(x, interval(self.values[quantity]))
                found[term] = range_
        return found

    def _told(self, x: Expr, seen: Interval) -> tuple[Expr, Interval]:
        """What lies in a range that a variable has in the sort it is kept as."""
        sort, own = self.kept(x), element(x.sort)
        if sort is own or isinstance(x.sort, ArraySort):
            return x, converted(seen, own)
        assert isinstance(sort, MachineSort)
        told = converted(seen, own)
        return (x, told) if told != type_range(own) else (build.wrap(x, sort), seen)

    def kept(self, variable: Expr) -> Sort:
        """The sort in which the values of a variable, or of its elements, are counted: its own, or the signed
        one that its bits are read as."""
        return element(self.version.translation.kept(variable))

    def of(self, variable: Expr) -> Interval | None:
        """All values that a variable is given; None if it is given none."""
        seen = self.seen(variable)
        return None if seen is None else converted(seen, element(variable.sort))

    def seen(self, variable: Expr) -> Interval | None:
        """All that a variable is given, counted in the sort it is kept as."""
        low, high = NOTHING
        for quantity in self.version.defined.get(variable, ()):
            if self.values.has(quantity):
                low, high = min(low, self.values.low[quantity]), max(high, self.values.high[quantity])
        return interval((low, high)) if low <= high else None

    def is_input(self, variable: Expr) -> bool:
        """Whether a variable is given anything of its type: a value from outside, as it came, through calls
        as well. An element of an array may be anything only because all of them are one."""
        definitions = self.version.system.definitions
        everything = limits(self.kept(variable))
        pending = list(self.version.defined.get(variable, ()))
        seen = set(pending)
        while pending:
            quantity = pending.pop()
            if self.values[quantity] != everything:
                continue
            found = definitions[quantity]
            if isinstance(found, Fixed):
                return True
            passed: Sequence[int] = ()
            if isinstance(found, Join):
                passed = self._open(found)
            elif isinstance(found, Sum) and quantity in self.version.called:
                passed = [each for _, each in found.terms]
            pending.extend(each for each in passed if each not in seen)
            seen.update(passed)
        return False

    def _open(self, join: Join) -> list[int]:
        """The operands that control comes from."""
        pairs = zip(join.operands, join.gates, strict=True)
        return [operand for operand, gate in pairs if self.values.has(gate)]


@dataclass(frozen=True, slots=True, eq=False)
class Ranges(Solution):
    """A solution of the constraint system of a program: sound at every location for every execution."""

    linear_programs: int = 0
    widened: int = 0  # constraints that did not check, and grew until they did
    not_linear: Mapping[int, Expr] | None = None

    def opaque(self) -> Iterator[tuple[Edge, Expr, Interval]]:
        """The operations that are not linear, where they stand, and what is known of their results."""
        for quantity, term in self.version.translation.opaque.items():
            edge = self.version.edges.get(quantity)
            if edge is not None and self.values.has(quantity):
                yield edge, term, interval(self.values[quantity])


def interval(bounds: Bounds) -> Interval:
    low, high = bounds
    return Interval(None if low <= -INFINITE else low, None if high >= INFINITE else high)


def converted(found: Interval, sort: Sort) -> Interval:
    """The numbers of a range converted to a sort of the same width: all move alike, or they may be any."""
    if not isinstance(sort, MachineSort) or found.low is None or found.high is None:
        return found
    low, high = sort.wrap(found.low), sort.wrap(found.high)
    return Interval(low, high) if high - low == found.high - found.low else type_range(sort)


def declared_bits(sort: Sort) -> int | None:
    """The bits of a variable, or of an element of an array; None if it is no machine integer."""
    sort = element(sort)
    return sort.width if isinstance(sort, MachineSort) else None


def needed_bits(found: Interval | None) -> int | None:
    """The bits that hold all numbers of a range; None if there is no end to it.

    A range of several numbers needs a sign if one of them is negative; a single number needs no bit."""
    if found is None:
        return 0
    if found.low is None or found.high is None:
        return None
    if found.low == found.high:
        return 0
    if found.low >= 0:
        return found.high.bit_length()
    return max((~found.low).bit_length(), max(found.high, 0).bit_length()) + 1


def analyse(
    program: Program,
    scope: Scope | None = None,
    *,
    budget: Budget | None = None,
    solver: Solver = "strategy",
) -> Ranges:
    """The ranges of a program without memory operations."""
    return solve(translate(program, scope), budget or Budget(), solver)


def solve(version: Version, budget: Budget, solver: Solver = "strategy") -> Ranges:
    """Intervals first, which tell dead branches; then strategy iteration; then a check of all constraints."""
    system, known = version.system, version.translation.limits
    propagation = Propagation(system, known)
    outer = propagation.intervals(budget)
    programs = widened = 0
    for _ in range(ROUNDS):
        if solver == "milp":
            inner = by_milp(version, outer, budget)
        else:
            iteration = StrategyIteration(system, known, outer)
            inner = iteration.solve(budget)
            programs += iteration.programs
        widened += propagation.settled(inner, budget)
        inner = propagation.reached(inner)
        fewer = sum(map(inner.has, range(len(system)))) < sum(map(outer.has, range(len(system))))
        outer = inner
        if not fewer:
            break
    widened += propagation.settled(outer, budget)
    return Ranges(version, outer, programs, widened, version.translation.opaque)


def by_milp(version: Version, outer: Values, budget: Budget) -> Values:
    """The reference: the paper's mixed-integer encoding, without parameters."""
    from certus.analysis.ranges.milp import MixedInteger, Vector

    system, types = version.system, version.translation.limits

    def unbounded(quantity: int) -> tuple[Vector | None, Vector | None]:
        low, high = types.get(quantity, outer[quantity])
        return (None if high >= INFINITE else (high,)), (None if low <= -INFINITE else (-low,))

    bounds = MixedInteger(system, outer, {}, unbounded).solve(budget)
    found = Values(len(system))
    for side, vector in bounds.items():
        value = INFINITE if vector is None else vector[0]
        if side & 1:
            found.low[side >> 1] = -value
        else:
            found.high[side >> 1] = value
    for quantity in range(len(system)):
        found.evaluate(quantity, system.definitions[quantity])  # notes what may wrap
    return found


def type_range(sort: Sort) -> Interval:
    return interval(limits(sort))

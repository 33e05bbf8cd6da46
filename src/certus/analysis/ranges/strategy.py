"""Solve the system by max-strategy iteration over linear programs (Gawlitza and Seidl, "Precise fixpoint
computation through strategy iteration", 2007).

With upper bounds u and negated lower bounds d as unknowns, every definition is monotone: a join is a maximum,
a meet a minimum, a sum a combination with nonnegative coefficients. A *strategy* chooses one operand for each
side of each join. This leaves minima of sums, whose greatest solution is that of a linear program: maximise
the sum of all unknowns. The strategy improves where another operand is greater; the first strategy without
improvement gives the least solution of the system.

The strongly connected components of the dependency graph are solved in order. In a component, values grow
from below by exact evaluation. A side of a join that has grown several times by the same operand is on a
cycle of the strategy's graph, and the linear program of that cycle's component gives its final value. If all
rows are differences, the solution is one of shortest paths, and exact. Otherwise HiGHS solves it in floating
point; the values are rounded to integers, and evaluation continues: a value that is too small grows further,
one that is too large is only less precise. A bound beyond `GREAT` becomes the end of its type. Afterwards all
constraints are checked (`Propagation.settle`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Final

from certus.analysis.ranges.float_constraints import Compared, FloatOperation
from certus.analysis.ranges.operations import INFINITE
from certus.analysis.ranges.system import (
    Bound,
    Gate,
    Join,
    Meet,
    Operation,
    Sum,
    System,
    Terms,
    Values,
    dependencies,
)
from certus.core.accounting import Budget
from certus.core.loops import components
from certus.solvers.highs import LinearProgram, LinearSolver

PATIENCE: Final = 3  # how often a side of a join grows by one operand before its cycle is solved
GREAT: Final = 1 << 50  # sums of integers below are exact in floating point
ROUNDING: Final = 1e-4
ENOUGH: Final = 500  # how often a side of a join may grow at all
UPPER, LOWER = 0, 1  # the sides of a quantity: 2 * quantity + side is the number of an unknown


class StrategyIteration:
    """The iteration under the gates of `outer`, a solution by intervals that has no value for dead
    quantities."""

    def __init__(self, system: System, limits: dict[int, tuple[int, int]], outer: Values) -> None:
        self.system, self.limits, self.outer = system, limits, outer
        self.values = Values(len(system))
        self.programs = 0  # linear programs solved
        self.in_cycles: dict[int, None] = {}  # operations that depend on themselves
        self._solver: LinearSolver | None = None
        self._strategy: dict[int, int] = {}  # the operand that a side of a join has its value from
        self._grown: dict[int, int] = {}  # how often the side has grown by that operand
        self._improved: dict[int, int] = {}  # how often it has grown at all
        self._operands = self._live_operands()
        self._uses = self._live_uses()

    def solve(self, budget: Budget) -> Values:
        live = [q for q in range(len(self.system)) if self.outer.has(q)]
        for component in components(live, self._uses.__getitem__):  # dependencies first
            budget.check()
            if len(component) == 1 and component[0] not in self._uses[component[0]]:
                self._evaluate(component[0])
            else:
                self._solve_component(sorted(component), budget)
        return self.values

    def _live_operands(self) -> dict[int, list[int]]:
        """Return the operands of each join that are open and have a value."""
        outer = self.outer
        operands = {}
        for quantity, definition in enumerate(self.system.definitions):
            if isinstance(definition, Join) and outer.has(quantity):
                pairs = zip(definition.operands, definition.gates, strict=True)
                operands[quantity] = [o for o, gate in pairs if outer.has(gate) and outer.has(o)]
        return operands

    def _live_uses(self) -> list[tuple[int, ...]]:
        uses: list[tuple[int, ...]] = []
        for quantity, definition in enumerate(self.system.definitions):
            if not self.outer.has(quantity) or isinstance(definition, Gate):
                uses.append(())
            elif isinstance(definition, Join):
                uses.append(tuple(self._operands[quantity]))
            else:
                uses.append(tuple(dependencies(definition)))
        return uses

    # --------------------------------------------------------------------------------- evaluation

    def _evaluate(self, quantity: int) -> bool:
        """Let a quantity grow to the value of its definition; return whether it, or its wrapping, changed."""
        definition = self.system.definitions[quantity]
        values = self.values
        if isinstance(definition, Join):
            return self._evaluate_join(quantity)
        if isinstance(definition, Gate):
            values[quantity] = self.outer[quantity]
            return False
        wrapped = values.wrapped[quantity]
        low, high = values.evaluate(quantity, definition)
        if wrapped:
            values.wrapped[quantity] = 1
        before_low, before_high = values[quantity]
        low, high = min(low, before_low), max(high, before_high)
        values[quantity] = low, high
        return low < before_low or high > before_high or wrapped != values.wrapped[quantity]

    def _evaluate_join(self, quantity: int) -> bool:
        values = self.values
        low, high = values[quantity]
        most = least = None
        for operand in self._operands[quantity]:
            own_low, own_high = values[operand]
            if own_low > own_high:
                continue
            if own_high > high:
                high, most = own_high, operand
            if own_low < low:
                low, least = own_low, operand
        values[quantity] = low, high
        if most is not None:
            self._improve(2 * quantity + UPPER, most)
        if least is not None:
            self._improve(2 * quantity + LOWER, least)
        return most is not None or least is not None

    def _improve(self, side: int, operand: int) -> None:
        """Record that a side of a join has grown by an operand; set it to its end if that is too often."""
        self._improved[side] = self._improved.get(side, 0) + 1
        if self._improved[side] > ENOUGH:
            self._set(side, self._type_end(side))
        if self._strategy.get(side) == operand:
            self._grown[side] = self._grown.get(side, 0) + 1
        else:
            self._strategy[side] = operand
            self._grown[side] = 0

    def _set(self, unknown: int, value: int) -> None:
        if unknown & 1:
            self.values.low[unknown >> 1] = -value
        else:
            self.values.high[unknown >> 1] = value

    # --------------------------------------------------------------------------------- components

    def _solve_component(self, component: Sequence[int], budget: Budget) -> None:
        inside = dict.fromkeys(component)
        users: dict[int, list[int]] = {q: [] for q in component}
        fixed: dict[int, None] = {}
        for quantity in component:
            used = [u for u in self._uses[quantity] if u in inside]
            if isinstance(self.system.definitions[quantity], Operation | FloatOperation) and used:
                fixed[quantity] = None  # nonlinear: its arguments have the ranges of the interval pass
                self.in_cycles[quantity] = None
                self.values[quantity] = self._from_outer(quantity)
                continue
            for each in used:
                users[each].append(quantity)
        pending = [q for q in component if q not in fixed]
        heapify(pending)
        waiting = set(pending)
        while pending:
            budget.check()
            quantity = heappop(pending)
            waiting.discard(quantity)
            if not self._evaluate(quantity):
                continue
            changed = [quantity]
            for side in (2 * quantity + UPPER, 2 * quantity + LOWER):
                if self._grown.get(side, 0) >= PATIENCE:
                    self._grown[side] = 0
                    changed.extend(self._accelerate(side, inside, fixed, budget))
            for each in changed:
                for user in users[each]:
                    if user not in waiting and user not in fixed:
                        waiting.add(user)
                        heappush(pending, user)

    def _from_outer(self, quantity: int) -> tuple[int, int]:
        return self.outer.evaluate(quantity, self.system.definitions[quantity])

    # ------------------------------------------------------------------------------- acceleration

    def _accelerate(
        self, side: int, inside: dict[int, None], fixed: dict[int, None], budget: Budget
    ) -> list[int]:
        """Solve the cycle of the strategy's graph that a side is on; return the quantities that grew."""
        cycle = self._cycle(side, inside, fixed)
        if not cycle:
            return []
        solution = self._maximum(cycle, budget)
        changed = []
        for unknown, value in zip(cycle, solution, strict=True):
            if value > self._value(unknown):
                self._set(unknown, value)
                changed.append(unknown >> 1)
        return changed

    def _cycle(self, side: int, inside: dict[int, None], fixed: dict[int, None]) -> list[int]:
        """Return the strongly connected component of a side in the strategy's graph; empty if it is alone."""
        arcs: dict[int, tuple[int, ...]] = {}
        pending = [side]
        while pending:
            unknown = pending.pop()
            if unknown in arcs:
                continue
            used = tuple(u for u in self._arcs(unknown) if u >> 1 in inside and u >> 1 not in fixed)
            arcs[unknown] = used
            pending.extend(used)
        for group in components((side, *arcs), arcs.__getitem__):
            if side in group:
                return sorted(group) if len(group) > 1 else []
        return []

    def _arcs(self, unknown: int) -> list[int]:
        """Return the unknowns that an unknown depends on under the strategy."""
        quantity, side = unknown >> 1, unknown & 1
        definition = self.system.definitions[quantity]
        if not self.values.has(quantity):
            return []
        if isinstance(definition, Join):
            chosen = self._strategy.get(unknown)
            return [] if chosen is None else [2 * chosen + side]
        if isinstance(definition, Sum):
            if self.values.wrapped[quantity]:
                return []
            return _unknowns(definition.terms, side)
        if isinstance(definition, Meet):
            unknowns = [2 * definition.of + side]
            for bound in definition.uppers if side == UPPER else definition.lowers:
                if self.values.applies(bound):
                    unknowns.extend(_unknowns(bound.terms, side))
            return unknowns
        if isinstance(definition, Compared):
            return [2 * definition.of + side]
        return []

    def _maximum(self, cycle: Sequence[int], budget: Budget) -> list[int]:
        """Return the greatest solution of a component of the strategy's graph, in integers."""
        columns = {unknown: n for n, unknown in enumerate(cycle)}
        rows = [row for unknown in cycle for row in self._rows(unknown, columns)]
        self.programs += 1
        solution = shortest(len(cycle), rows, [self._type_end(unknown) for unknown in cycle])
        if solution is not None:
            return solution
        return self._by_highs(cycle, rows, budget)

    def _by_highs(self, cycle: Sequence[int], rows: Sequence[Row], budget: Budget) -> list[int]:
        model = LinearProgram()
        for unknown in cycle:
            model.column(float(self._present(unknown)), float(self._end(unknown)), 1.0)
        for row in rows:
            if row.constant < GREAT:
                entries = [(row.column, float(row.factor)), *((c, -float(k)) for c, k in row.terms)]
                model.row(_merged(entries), upper=float(max(row.constant, -GREAT)))
        if self._solver is None:
            self._solver = LinearSolver()
        solution = self._solver.maximum(model, seconds=budget.remaining())
        budget.check()
        if solution is None:
            return [self._type_end(unknown) for unknown in cycle]
        return [self._rounded(unknown, value) for unknown, value in zip(cycle, solution, strict=True)]

    def _rows(self, unknown: int, columns: dict[int, int]) -> Iterator[Row]:
        """Yield the rows that an unknown is at most the value of its definition under the strategy."""
        quantity, side = unknown >> 1, unknown & 1
        definition = self.system.definitions[quantity]
        own = columns[unknown]
        if isinstance(definition, Join):
            yield from self._at_most(own, Bound(0, ((1, self._strategy[unknown]),)), side, columns)
        elif isinstance(definition, Sum):
            yield from self._at_most(own, Bound(definition.constant, definition.terms), side, columns)
        elif isinstance(definition, Meet):
            yield from self._at_most(own, Bound(0, ((1, definition.of),)), side, columns)
            for bound in definition.uppers if side == UPPER else definition.lowers:
                if self.values.applies(bound):
                    yield from self._at_most(own, bound, side, columns)
            for bound in definition.excluded:
                yield from self._excludes(own, definition.of, bound, side, columns)
        elif isinstance(definition, Compared):
            yield from self._at_most(own, Bound(0, ((1, definition.of),)), side, columns)
            low, high = definition.restrict(self._far(definition.of), self.values[definition.other])
            if low <= high:
                yield Row(own, 1, (), high if side == UPPER else -low)

    def _far(self, quantity: int) -> tuple[int, int]:
        """Return the greatest bounds that a quantity can have."""
        return self.limits.get(quantity, self.values[quantity])

    def _excludes(self, own: int, of: int, bound: Bound, side: int, columns: dict[int, int]) -> Iterator[Row]:
        """Yield the row that a side stops before an excluded value that it has not passed so far. If it can
        pass it by another operand, later evaluation corrects that."""
        value = self.values.exactly(bound)
        if value is None or any(2 * q in columns or 2 * q + 1 in columns for _, q in bound.terms):
            return
        signed = value if side == UPPER else -value
        if self._value(2 * of + side) <= signed:
            yield Row(own, 1, (), signed - 1)

    def _at_most(self, own: int, bound: Bound, side: int, columns: dict[int, int]) -> Iterator[Row]:
        """Yield the row own <= bound on one side; unknowns outside the cycle have their value, if finite."""
        total = bound.constant if side == UPPER else -bound.constant
        row: list[tuple[int, int]] = []
        for coefficient, quantity in bound.terms:
            unknown = 2 * quantity + (side if coefficient > 0 else 1 - side)
            column = columns.get(unknown)
            if column is None:
                value = self._value(unknown)
                if value >= INFINITE:
                    return
                total += abs(coefficient) * value
            else:
                row.append((column, abs(coefficient)))
        yield Row(own, bound.divisor, tuple(row), total)

    # --------------------------------------------------------------------------- values of unknowns

    def _value(self, unknown: int) -> int:
        quantity = unknown >> 1
        return -self.values.low[quantity] if unknown & 1 else self.values.high[quantity]

    def _present(self, unknown: int) -> int:
        return max(-GREAT, min(GREAT, self._value(unknown)))

    def _type_end(self, unknown: int) -> int:
        least, greatest = self.limits.get(unknown >> 1, (-INFINITE, INFINITE))
        return -least if unknown & 1 else greatest

    def _end(self, unknown: int) -> int:
        return max(-GREAT, min(GREAT, self._type_end(unknown)))

    def _rounded(self, unknown: int, value: float) -> int:
        if value >= GREAT / 2:
            return self._type_end(unknown)
        return min(ceil(value - ROUNDING), self._type_end(unknown))


def _unknowns(terms: Terms, side: int) -> list[int]:
    return [2 * quantity + (side if coefficient > 0 else 1 - side) for coefficient, quantity in terms]


# ---------------------------------------------------------------------------------- linear programs


@dataclass(frozen=True, slots=True)
class Row:
    """The constraint factor * column <= the terms (coefficient * column) + constant."""

    column: int
    factor: int
    terms: tuple[tuple[int, int], ...]
    constant: int


def shortest(count: int, rows: Sequence[Row], ends: Sequence[int]) -> list[int] | None:
    """Return the greatest solution below `ends` if all rows are differences: shortest paths by Bellman and
    Ford, which are exact. None if a row is not a difference, or there is no solution."""
    for row in rows:
        if row.factor != 1 or len(row.terms) > 1 or (row.terms and row.terms[0][1] != 1):
            return None
    solution = list(ends)
    for _ in range(count + 1):
        changed = False
        for row in rows:
            value = row.constant + (solution[row.terms[0][0]] if row.terms else 0)
            if row.terms and solution[row.terms[0][0]] >= INFINITE:
                continue
            if value < solution[row.column]:
                solution[row.column] = value
                changed = True
        if not changed:
            return solution
    return None


def _merged(entries: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Add up the entries of each column."""
    total: dict[int, float] = {}
    for column, coefficient in entries:
        total[column] = total.get(column, 0.0) + coefficient
    return [(column, c) for column, c in total.items() if c]

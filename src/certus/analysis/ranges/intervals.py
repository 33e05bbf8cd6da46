"""Solve the whole system quickly, by interval propagation with widening.

Control starts at the entry; a gate opens when all quantities it needs have a value (conditional propagation).
Cyclic joins that keep growing are widened to zero or to the end of their type, and those of floating-point
numbers to the next constant of the program. A quantity without a value in this or any other solution is
dead.

`settle` turns any values into a solution in the same way: it re-checks every constraint in exact integers,
and widens quantities that violate it to the range of their type.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import heapify, heappop, heappush
from typing import Final

from certus.analysis.ranges.system import Join, System, Values
from certus.analysis.ranges.terms import Translation
from certus.core.accounting import Budget

NARROWING: Final = 2  # how often all quantities are evaluated again after widening
PATIENCE: Final = 3  # how often a cyclic join may grow before it is widened
CHECKED: Final = 4096  # evaluations between two checks of the budget


class Propagation:
    """Chaotic iteration from below: all quantities in order, and after a change those that use it."""

    def __init__(self, system: System, translation: Translation) -> None:
        self.system, self.limits, self.orders = system, translation.limits, translation.orders
        self.marks = translation.floats.marks() if self.orders else {}
        self.users = system.users()

    def intervals(self, budget: Budget) -> Values:
        """Return the solution by widening."""
        values = Values(len(self.system))
        self._propagate(values, PATIENCE, budget)
        return values

    def settle(self, values: Values, budget: Budget) -> int:
        """Widen `values` until they are a solution; return the number of changes."""
        return self._propagate(values, 0, budget)

    def narrow(self, values: Values) -> None:
        """Evaluate all quantities again, which makes a solution smaller: only widening has bounded
        floating-point numbers."""
        if self.orders:
            for _ in range(NARROWING):
                for quantity, definition in enumerate(self.system.definitions):
                    values[quantity] = values.evaluate(quantity, definition)

    def reached(self, values: Values) -> Values:
        """Reduce a solution to the quantities that control reaches under it, which is a solution again."""
        reached = Values(len(self.system))
        reached.wrapped = values.wrapped[:]
        definitions, users = self.system.definitions, self.users
        pending = list(range(len(definitions) - 1, -1, -1))
        while pending:
            quantity = pending.pop()
            if reached.has(quantity) or not values.has(quantity):
                continue
            low, high = reached.evaluate(quantity, definitions[quantity])
            if low <= high:
                reached[quantity] = values[quantity]
                pending.extend(user for user in users[quantity] if not reached.has(user))
        return reached

    def _propagate(self, values: Values, patience: int, budget: Budget) -> int:
        definitions, users = self.system.definitions, self.users
        pending = list(range(len(definitions)))
        heapify(pending)
        waiting = bytearray(b"\x01") * len(definitions)
        grown = [0] * len(definitions)
        changes = steps = 0
        while pending:
            quantity = heappop(pending)
            waiting[quantity] = 0
            steps += 1
            if steps % CHECKED == 0:
                budget.check()
            definition = definitions[quantity]
            wrapped = values.wrapped[quantity]
            low, high = values.evaluate(quantity, definition)
            before_low, before_high = values[quantity]
            if low > high or (before_low <= low and high <= before_high):
                if wrapped == values.wrapped[quantity]:
                    continue
            elif before_low <= before_high:
                changes += 1
                low, high = min(low, before_low), max(high, before_high)
                if isinstance(definition, Join) and definition.cyclic:
                    grown[quantity] += 1
                    if grown[quantity] > patience:
                        low, high = self._widened(quantity, (before_low, before_high), (low, high))
                values[quantity] = low, high
            else:
                changes += 1
                values[quantity] = low, high
            for user in users[quantity]:
                if not waiting[user]:
                    waiting[user] = 1
                    heappush(pending, user)
        return changes

    def _widened(self, quantity: int, before: tuple[int, int], now: tuple[int, int]) -> tuple[int, int]:
        least, greatest = self.limits[quantity]
        low, high = now
        if quantity in self.orders:
            marks = self.marks[self.orders[quantity]]
            if low < before[0]:
                low = marks[bisect_right(marks, low) - 1] if marks[0] <= low else least
            if high > before[1]:
                high = marks[bisect_left(marks, high)] if high <= marks[-1] else greatest
            return low, high
        if low < before[0]:
            low = 0 if low >= 0 else least
        if high > before[1]:
            high = 0 if high <= 0 else greatest
        return low, high

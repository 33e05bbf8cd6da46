"""Compute ranges for executions that enter no loop more often than a bound (Zaks et al. 2006, section 5.1).

Quantities are evaluated in order. A loop is a stretch of them; it is evaluated as often as its head may be
entered, starting with the values from outside, and each time the joins at its head include the values from
the back edges. An inner loop starts again in every iteration of the outer one, with all values of the
iterations so far. All operators are evaluated, nonlinear ones too. Values passed between procedures have
their range in all executions.

Such ranges are not facts: a longer execution may leave them. Therefore `BoundedRanges` is not a `Ranges`, and
`facts` has no formulas for it; only `bmc` assumes them, for one bound at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.analysis.ranges.essa import LoopStretch
from certus.analysis.ranges.operations import INFINITE, NOTHING
from certus.analysis.ranges.result import Ranges, Solution
from certus.analysis.ranges.system import Join, Values
from certus.core.accounting import Budget

STEPS: Final = 5_000_000  # evaluations after which loops have their range in all executions


@dataclass(frozen=True, slots=True, eq=False)
class BoundedRanges(Solution):
    """Ranges in all executions that enter each loop at most `bound` times each time control reaches it."""

    bound: int


def bounded_ranges(ranges: Ranges, bound: int, *, budget: Budget | None = None) -> BoundedRanges:
    """Return the ranges within a bound on the entries of loops, from those of all executions."""
    return BoundedRanges(ranges.essa, _Rounds(ranges, bound, budget or Budget()).run(), bound)


class _Rounds:
    """The evaluation of loops, iteration by iteration."""

    def __init__(self, ranges: Ranges, bound: int, budget: Budget) -> None:
        self.essa, self.outer, self.bound, self.budget = ranges.essa, ranges.values, bound, budget
        self.definitions = ranges.essa.system.definitions
        self.values = Values(len(self.definitions))
        self.starts: dict[int, list[LoopStretch]] = {}
        self.ends: dict[int, list[LoopStretch]] = {}  # inner loops first
        for loop in sorted(ranges.essa.loops, key=lambda each: (-each.start, each.end)):
            if loop.end > loop.start:
                self.starts.setdefault(loop.start, []).append(loop)
                self.ends.setdefault(loop.end, []).append(loop)

    def run(self) -> Values:
        """Evaluate all quantities in order, going back at the ends of loops. A round passes at least one
        entry of a loop; a loop with several entries has as many rounds for each."""
        rounds: dict[LoopStretch, int] = {}  # of the loops being evaluated
        quantity = steps = 0
        while quantity < len(self.definitions):
            for loop in self.starts.get(quantity, ()):
                if loop not in rounds:
                    rounds[loop] = 0
                    self._reset(loop)
            self._evaluate(quantity)
            quantity += 1
            steps += 1
            if steps % 4096 == 0:
                self.budget.check()
            for loop in self.ends.get(quantity, ()):
                rounds[loop] += 1
                if steps > STEPS:
                    self._give_up(loop)
                elif rounds[loop] < self.bound * loop.entries and self._grows(loop):
                    quantity = loop.start
                    break
                del rounds[loop]
        return self.values

    def _evaluate(self, quantity: int) -> None:
        values = self.values
        if quantity in self.essa.called:
            values[quantity] = self.outer[quantity]
            return
        low, high = values.evaluate(quantity, self.definitions[quantity])
        values[quantity] = (low, high) if low <= high else NOTHING

    def _reset(self, loop: LoopStretch) -> None:
        """Reset the quantities of a loop that is entered from outside."""
        count = loop.end - loop.start
        self.values.low[loop.start : loop.end] = [INFINITE] * count
        self.values.high[loop.start : loop.end] = [-INFINITE] * count
        self.values.wrapped[loop.start : loop.end] = bytes(count)

    def _grows(self, loop: LoopStretch) -> bool:
        """Return whether another round would change a join at the head of a loop."""
        joins = ((q, self.definitions[q]) for q in range(loop.start, loop.end))
        return any(
            isinstance(each, Join) and each.cyclic and self.values.evaluate(q, each) != self.values[q]
            for q, each in joins
        )

    def _give_up(self, loop: LoopStretch) -> None:
        for quantity in range(loop.start, loop.end):
            self.values[quantity] = self.outer[quantity]

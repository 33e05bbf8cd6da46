"""Bounded ranges: for executions that enter no loop more often than a bound (seed 002, section 5.1).

Quantities are evaluated in their order. A loop is a stretch of them; it is gone through as often as its head
may be entered, from what control brings to it from outside, and each time the joins at its head take in
what came back. A loop inside is gone through anew every time, with all that the rounds of the outer
one have brought so far. All operators count, also those that are not linear. What passes between
procedures has its range in all executions.

Such ranges are no facts: an execution that goes further may leave them. `BoundedRanges` therefore is no
`Ranges`, and `facts` makes no formulas of it; only `bmc` tells them to its solver, for one bound at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.analysis.ranges.essa import LoopStretch
from certus.analysis.ranges.operations import INFINITE
from certus.analysis.ranges.result import Ranges, Solution
from certus.analysis.ranges.system import NOTHING, Join, Values
from certus.core.budget import Budget

STEPS: Final = 5_000_000  # evaluations after which loops get their range in all executions


@dataclass(frozen=True, slots=True, eq=False)
class BoundedRanges(Solution):
    """Ranges in all executions that enter each loop at most `bound` times since control came to it."""

    bound: int


def bounded_ranges(found: Ranges, bound: int, *, budget: Budget | None = None) -> BoundedRanges:
    """The ranges within a bound on the entries of loops. `found` are those of all executions."""
    return BoundedRanges(found.version, _Rounds(found, bound, budget or Budget()).run(), bound)


class _Rounds:
    def __init__(self, found: Ranges, bound: int, budget: Budget) -> None:
        self.version, self.outer, self.bound, self.budget = found.version, found.values, bound, budget
        self.definitions = found.version.system.definitions
        self.values = Values(len(self.definitions))
        self.starts: dict[int, list[LoopStretch]] = {}
        self.ends: dict[int, list[LoopStretch]] = {}  # inner loops first
        for loop in sorted(found.version.loops, key=lambda each: (-each.start, each.end)):
            if loop.end > loop.start:
                self.starts.setdefault(loop.start, []).append(loop)
                self.ends.setdefault(loop.end, []).append(loop)

    def run(self) -> Values:
        """One sweep over all quantities that goes back at the ends of loops. A round passes one entry of a
        loop at least; a loop with several is entered as often through each."""
        rounds: dict[LoopStretch, int] = {}  # of the loops that control is in
        quantity = steps = 0
        while quantity < len(self.definitions):
            for loop in self.starts.get(quantity, ()):
                if loop not in rounds:
                    rounds[loop] = 0
                    self._forget(loop)
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
        if quantity in self.version.called:
            values[quantity] = self.outer[quantity]
            return
        low, high = values.evaluate(quantity, self.definitions[quantity])
        values[quantity] = (low, high) if low <= high else NOTHING

    def _forget(self, loop: LoopStretch) -> None:
        """Nothing has happened in a loop that control comes to from outside."""
        count = loop.end - loop.start
        self.values.low[loop.start : loop.end] = [INFINITE] * count
        self.values.high[loop.start : loop.end] = [-INFINITE] * count
        self.values.wrapped[loop.start : loop.end] = bytes(count)

    def _grows(self, loop: LoopStretch) -> bool:
        """Whether another round would change a join at the head of a loop."""
        joins = ((q, self.definitions[q]) for q in range(loop.start, loop.end))
        return any(
            isinstance(each, Join) and each.cyclic and self.values.evaluate(q, each) != self.values[q]
            for q, each in joins
        )

    def _give_up(self, loop: LoopStretch) -> None:
        for quantity in range(loop.start, loop.end):
            self.values[quantity] = self.outer[quantity]

"""Decide how far each loop is unrolled at each bound, given bounds of some loops.

A small counting loop is unrolled completely at the first bound: then the code after it is reachable at once,
and there is only one exit to continue from. A large counting loop is unrolled completely at the second bound
if it contains no error, as unrolling a part of it would show nothing. All other loops are unrolled to the
bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from certus.core.loops import Loop, LoopBound
from certus.core.program import Call, Program
from certus.encoding.procedure_shape import Shape, shapes
from certus.encoding.unroller import Limits

SMALL: Final = 200  # unrolled edges of a loop that is unrolled completely at the first bound
LARGE: Final = 20_000  # likewise at the second bound, without an error in the loop


class BoundSchedule:
    """The limits of all loops for each bound. `most`: limit for every loop (0: none)."""

    def __init__(self, program: Program, bounds: Mapping[str, LoopBound], most: int) -> None:
        self._bounds = bounds
        self._most = most
        self._small: dict[str, int] = {}
        self._large: dict[str, int] = {}
        for shape in shapes(program).values():
            self._classify(shape)

    def limits(self, bound: int) -> Limits:
        return Limits(bound, self._small if bound == 1 else {**self._small, **self._large})

    def next(self, bound: int) -> int:
        """Return the bound after this one."""
        following = bound + max(1, bound // 4)
        return min(following, self._most or following)

    def reach(self, bound: int) -> int:
        """Return the maximal number of entries of any loop at a bound."""
        return max((bound, *self.limits(bound).further.values()))

    def _classify(self, shape: Shape) -> None:
        """Choose the loops of a procedure to unroll completely, by their cost."""
        cost: dict[Loop | None, int] = dict.fromkeys((*shape.forest.loops, None), 0)
        with_calls: set[Loop | None] = set()  # loops that contain a call
        for edge in shape.procedure.edges:
            loop = shape.forest.innermost(edge.source)
            cost[loop] += 1
            if isinstance(edge.op, Call):
                with_calls.add(loop)
        for loop in reversed(shape.forest.loops):  # inner ones first
            bound = self._bounds.get(loop.head.name)
            if bound is not None and loop not in with_calls:
                cost[loop] *= self._iterations(loop, bound, cost[loop])
            cost[loop.parent] += cost[loop]
            if loop in with_calls:
                with_calls.add(loop.parent)

    def _iterations(self, loop: Loop, bound: LoopBound, edges: int) -> int:
        """Return how often to unroll a loop whose iterations have `edges` edges; 1 if it stays a loop."""
        entries = min(bound.entries, self._most or bound.entries)
        if entries * edges <= SMALL:
            self._small[loop.head.name] = entries
        elif bound.exact and not bound.fails and entries * edges <= LARGE:
            self._large[loop.head.name] = entries
        else:
            return 1
        return entries

"""How far to unroll, bound by bound, where it is known how often some loops are entered.

A small counting loop is unrolled to its end at once: what follows it is then looked at with the first bound,
and nothing has to be merged where it is left. A large one follows with the second bound if nothing in it
fails: looking at parts of it can show nothing. All others go no further than the bound that grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from certus.core.loops import Loop, LoopBound
from certus.core.program import Call, Program
from certus.logic.regions import Shape, shapes
from certus.logic.unrolling import Limits

SMALL: Final = 200  # edges, unrolled, of a loop that is looked at as a whole
LARGE: Final = 20_000  # the same for a loop where nothing fails


class Pace:
    """Which limits go with a bound. `most`: no loop may be unrolled further (0: no such limit)."""

    def __init__(self, program: Program, bounds: Mapping[str, LoopBound], most: int) -> None:
        self._bounds = bounds
        self._most = most
        self._small: dict[str, int] = {}
        self._large: dict[str, int] = {}
        for shape in shapes(program).values():
            self._survey(shape)

    def limits(self, bound: int) -> Limits:
        return Limits(bound, self._small if bound == 1 else {**self._small, **self._large})

    def next(self, bound: int) -> int:
        """The bound to go on with."""
        following = bound + max(1, bound // 4)
        return min(following, self._most or following)

    def reach(self, bound: int) -> int:
        """The furthest that any loop is unrolled with a bound."""
        return max((bound, *self.limits(bound).further.values()))

    def _survey(self, shape: Shape) -> None:
        """Sort the loops of a procedure by what unrolling them costs."""
        cost: dict[Loop | None, int] = dict.fromkeys((*shape.forest.loops, None), 0)
        rigid: set[Loop | None] = set()  # with a call inside
        for edge in shape.procedure.edges:
            loop = shape.forest.innermost(edge.source)
            cost[loop] += 1
            if isinstance(edge.op, Call):
                rigid.add(loop)
        for loop in reversed(shape.forest.loops):  # inner ones first
            known = self._bounds.get(loop.head.name)
            if known is not None and loop not in rigid:
                cost[loop] *= self._affordable(loop, known, cost[loop])
            cost[loop.parent] += cost[loop]
            if loop in rigid:
                rigid.add(loop.parent)

    def _affordable(self, loop: Loop, known: LoopBound, edges: int) -> int:
        """How often a loop is unrolled at once if a round has so many edges: once if it is too large."""
        entries = min(known.entries, self._most or known.entries)
        if entries * edges <= SMALL:
            self._small[loop.head.name] = entries
        elif known.exact and not known.fails and entries * edges <= LARGE:
            self._large[loop.head.name] = entries
        else:
            return 1
        return entries

"""Control dependence that minds termination.

The graph of a procedure gets one more node, the end, with an edge to it from wherever an execution may
stop: exit, errors, locations where no edge may be enabled, and every loop head, since a loop may
never be left (Podgurski and Clarke, "A formal model of program dependences", 1990: weak control
dependence). Stretches from a branch to its immediate postdominator contain no loop head.
"""

from __future__ import annotations

from collections.abc import Iterator

from certus.core.control import controllers, may_stop, postdominators
from certus.core.loops import LoopForest
from certus.core.program import Location, Procedure


class ControlDependence:
    """Of one procedure."""

    def __init__(self, procedure: Procedure, forest: LoopForest) -> None:
        self._locations = procedure.locations
        self._number = {at: n for n, at in enumerate(self._locations)}
        self._end = len(self._locations)
        stops = frozenset(forest.heads)
        graph: list[list[int]] = []
        for at in self._locations:
            targets = [self._number[e.target] for e in procedure.successors[at]]
            if not targets or at is procedure.exit or at in stops or may_stop(procedure, at):
                targets.append(self._end)
            graph.append(list(dict.fromkeys(targets)))
        graph.append([])
        self._next = postdominators(graph)
        self._controllers = controllers(graph, self._next)

    def postdominator(self, at: Location) -> Location | None:
        """The first location that every execution passes after `at`; None if it is the end."""
        found = self._next[self._number[at]]
        return None if found == self._end else self._locations[found]

    def controllers(self, at: Location) -> Iterator[Location]:
        """The branches that `at` depends on: it lies on all ways to the end that start with one edge of the
        branch, but not on all that start at the branch."""
        return (self._locations[n] for n in self._controllers[self._number[at]])

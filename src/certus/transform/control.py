"""Control dependence that minds termination.

The graph of a procedure gets one more node, the end, with an edge to it from wherever an execution may
stop: exit, errors, locations where no edge may be enabled, and every loop head, since a loop may
never be left (Podgurski and Clarke, "A formal model of program dependences", 1990: weak control
dependence). A location depends on a branch if it lies on all ways to the end that start with one edge of
the branch, but not on all that start at the branch. Stretches from a branch to its immediate
postdominator contain no loop head.

Postdominators by Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm", 2001).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from certus.core import build
from certus.core.loops import LoopForest
from certus.core.program import Assume, Edge, Location, Procedure


def may_stop(procedure: Procedure, at: Location) -> bool:
    """Whether an execution may come to `at` and find no edge enabled. The exit does not count."""
    conditions = [e.op.condition for e in procedure.successors[at] if isinstance(e.op, Assume)]
    if len(conditions) < len(procedure.successors[at]) or at is procedure.exit:
        return False
    return build.disjunction(conditions) is not build.TRUE


def is_branch(edges: Sequence[Edge]) -> bool:
    """Whether edges out of one location decide where, or if, control goes on."""
    return any(isinstance(e.op, Assume) and e.op.condition is not build.TRUE for e in edges)


class ControlDependence:
    """Of one procedure."""

    def __init__(self, procedure: Procedure, forest: LoopForest) -> None:
        self._locations = procedure.locations
        self._number = {at: n for n, at in enumerate(self._locations)}
        self._end = len(self._locations)
        stops = frozenset(forest.heads)
        self._targets: list[list[int]] = []
        for at in self._locations:
            targets = [self._number[e.target] for e in procedure.successors[at]]
            if not targets or at is procedure.exit or at in stops or may_stop(procedure, at):
                targets.append(self._end)
            self._targets.append(list(dict.fromkeys(targets)))
        self._targets.append([])
        self._next = self._postdominators()
        self._controllers: list[list[int]] = [[] for _ in self._locations]
        for branch, targets in enumerate(self._targets):
            if len(targets) > 1:
                for target in targets:
                    node = target
                    while node != self._next[branch]:
                        self._controllers[node].append(branch)
                        node = self._next[node]

    def postdominator(self, at: Location) -> Location | None:
        """The first location that every execution passes after `at`; None if it is the end."""
        found = self._next[self._number[at]]
        return None if found == self._end else self._locations[found]

    def controllers(self, at: Location) -> Iterator[Location]:
        """The branches that `at` depends on."""
        return (self._locations[n] for n in self._controllers[self._number[at]])

    def _postdominators(self) -> list[int]:
        order = self._backwards()
        rank = [0] * (self._end + 1)
        for n, node in enumerate(order):
            rank[node] = n
        none = -1
        found = [none] * (self._end + 1)
        found[self._end] = self._end
        changed = True
        while changed:
            changed = False
            for node in order[1:]:
                new = none
                for target in self._targets[node]:
                    if found[target] == none:
                        continue
                    other = target
                    if new == none:
                        new = other
                    while new != other:
                        while rank[new] > rank[other]:
                            new = found[new]
                        while rank[other] > rank[new]:
                            other = found[other]
                if new != found[node]:
                    found[node] = new
                    changed = True
        return found

    def _backwards(self) -> list[int]:
        """All nodes in reverse postorder of a search from the end against the edges."""
        sources: list[list[int]] = [[] for _ in range(self._end + 1)]
        for node, targets in enumerate(self._targets):
            for target in targets:
                sources[target].append(node)
        done = {self._end}
        stack = [(self._end, iter(sources[self._end]))]
        finished: list[int] = []
        while stack:
            node, rest = stack[-1]
            for source in rest:
                if source not in done:
                    done.add(source)
                    stack.append((source, iter(sources[source])))
                    break
            else:
                finished.append(node)
                stack.pop()
        finished.reverse()
        return finished

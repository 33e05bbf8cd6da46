"""Where control goes on for certain, and on which branches that depends.

Graphs are lists of successors by number. Every node must have a way to the last one, the end.

Postdominators by Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm", 2001).
"""

from __future__ import annotations

from collections.abc import Sequence

from certus.core import build
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


def postdominators(targets: Sequence[Sequence[int]]) -> list[int]:
    """For every node the first other one that lies on all ways from it to the end; the end's is itself."""
    end = len(targets) - 1
    order = _backwards(targets)
    rank = [0] * len(targets)
    for n, node in enumerate(order):
        rank[node] = n
    none = -1
    found = [none] * len(targets)
    found[end] = end
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            new = none
            for target in targets[node]:
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


def controllers(targets: Sequence[Sequence[int]], after: Sequence[int]) -> list[list[int]]:
    """For every node the branches it depends on: it lies on all ways to the end that start with one edge of
    the branch, but not on all that start at the branch. `after` are the postdominators."""
    found: list[list[int]] = [[] for _ in targets]
    for branch, ways in enumerate(targets):
        if len(ways) > 1:
            for way in ways:
                node = way
                while node != after[branch]:
                    found[node].append(branch)
                    node = after[node]
    return found


def _backwards(targets: Sequence[Sequence[int]]) -> list[int]:
    """All nodes in reverse postorder of a search from the end against the edges."""
    end = len(targets) - 1
    sources: list[list[int]] = [[] for _ in targets]
    for node, ways in enumerate(targets):
        for target in ways:
            sources[target].append(node)
    done = {end}
    stack = [(end, iter(sources[end]))]
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

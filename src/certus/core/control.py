"""Postdominators and control dependence.

Graphs are lists of successors by number. Every node must have a path to the last one, the end.

Postdominators are computed as in Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm", 2001).
"""

from __future__ import annotations

from collections.abc import Sequence

from certus.core import build
from certus.core.program import Assume, Edge, Location, Procedure


def may_stop(procedure: Procedure, at: Location) -> bool:
    """Return whether an execution may come to `at` where no edge is enabled. The exit does not count."""
    conditions = [e.op.condition for e in procedure.successors[at] if isinstance(e.op, Assume)]
    if len(conditions) < len(procedure.successors[at]) or at is procedure.exit:
        return False
    return build.disjunction(conditions) is not build.TRUE


def is_branch(edges: Sequence[Edge]) -> bool:
    """Return whether the edges out of one location decide where control continues, or whether it does."""
    return any(isinstance(e.op, Assume) and e.op.condition is not build.TRUE for e in edges)


def postdominators(targets: Sequence[Sequence[int]]) -> list[int]:
    """Return for every node its immediate postdominator: the first other node on all paths to the end. The
    end has itself."""
    end = len(targets) - 1
    order = _backwards(targets)
    rank = [0] * len(targets)
    for n, node in enumerate(order):
        rank[node] = n
    none = -1
    immediate = [none] * len(targets)
    immediate[end] = end
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            new = none
            for target in targets[node]:
                if immediate[target] == none:
                    continue
                other = target
                if new == none:
                    new = other
                while new != other:
                    while rank[new] > rank[other]:
                        new = immediate[new]
                    while rank[other] > rank[new]:
                        other = immediate[other]
            if new != immediate[node]:
                immediate[node] = new
                changed = True
    return immediate


def controllers(targets: Sequence[Sequence[int]], after: Sequence[int]) -> list[list[int]]:
    """Return for every node the branches it depends on: it is on all paths to the end that start with one
    edge of the branch, but not on all that start at the branch. `after` are the postdominators."""
    branches: list[list[int]] = [[] for _ in targets]
    for branch, successors in enumerate(targets):
        if len(successors) > 1:
            for successor in successors:
                node = successor
                while node != after[branch]:
                    branches[node].append(branch)
                    node = after[node]
    return branches


def _backwards(targets: Sequence[Sequence[int]]) -> list[int]:
    """Return all nodes in reverse postorder of a search from the end against the edges."""
    end = len(targets) - 1
    sources: list[list[int]] = [[] for _ in targets]
    for node, successors in enumerate(targets):
        for target in successors:
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

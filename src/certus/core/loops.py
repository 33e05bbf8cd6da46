"""Loops of procedures, recursion of programs, postdominators and control dependence.

The loop forest consists of nested strongly connected components: a loop is a component with a cycle, its
*entries* are the locations where control comes in from outside, and its inner loops are those that remain
when the entries are removed. A loop with one entry is a natural loop with that head; a loop with several (an
irreducible one) is cut at all of them. So every cycle of the procedure passes through a head, and an entry of
a loop is in no inner loop. The forest depends on the graph alone, not on the order of the search: a program
of large blocks has the loops of the original program.

Postdominators are computed as in Cooper, Harvey and Kennedy ("A simple, fast dominance algorithm", 2001).
Their graphs are lists of successors by number; every node must have a path to the last one, the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from certus.core import build
from certus.core.program import Assume, Edge, Location, Procedure, Program, called

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop: `head` is its first entry by index, `depth` is 1 for an outermost loop."""

    head: Location
    entries: tuple[Location, ...]
    body: frozenset[Location]
    parent: Loop | None
    depth: int

    def __repr__(self) -> str:
        return f"Loop({', '.join(at.name for at in self.entries)}; {len(self.body)} locations)"


@dataclass(frozen=True, slots=True)
class LoopBound:
    """The most `entries` of a loop head since control came from outside. If `exact`, every execution that
    does not fail inside the loop enters it that often; `fails`: an execution may fail inside it."""

    entries: int
    exact: bool
    fails: bool = False


class LoopForest:
    """The loops of one procedure: outer ones first, at equal depth ordered by the index of the head.

    `heads` are the entries of all loops, ordered by index; without them the procedure has no cycle."""

    __slots__ = ("_innermost", "heads", "loops")

    def __init__(self, loops: Iterable[Loop]) -> None:
        self.loops: Final = tuple(sorted(loops, key=lambda loop: (loop.depth, loop.head.index)))
        cut = [entry for loop in self.loops for entry in loop.entries]
        self.heads: Final = tuple(sorted(cut, key=lambda at: at.index))
        self._innermost: Final = {at: loop for loop in self.loops for at in loop.body}

    def innermost(self, location: Location) -> Loop | None:
        """Return the innermost loop around `location`; a head belongs to its own loop."""
        return self._innermost.get(location)

    def around(self, location: Location) -> Iterator[Loop]:
        """Yield all loops around `location`, from the innermost outwards."""
        loop = self.innermost(location)
        while loop is not None:
            yield loop
            loop = loop.parent


def loop_forest(procedure: Procedure) -> LoopForest:
    """Return the loops of `procedure`, including those in unreachable code. An edge from unreachable code
    into reachable code does not make its target an entry.

    The time is linear in the edges for each level of nesting."""
    targets = {at: tuple(e.target for e in out) for at, out in procedure.successors.items()}
    reached = _reachable(procedure.entry, targets)
    sources = {
        at: tuple(e.source for e in into if e.source in reached or at not in reached)
        for at, into in procedure.predecessors.items()
    }
    loops: list[Loop] = []
    work: list[tuple[Sequence[Location], Loop | None]] = [(procedure.locations, None)]
    while work:
        region, parent = work.pop()
        for component in components(region, targets.__getitem__):
            if len(component) == 1 and component[0] not in targets[component[0]]:
                continue
            body = frozenset(component)
            members = sorted(component, key=lambda at: at.index)
            entered = [at for at in members if at is procedure.entry or not body.issuperset(sources[at])]
            entries = tuple(entered or members[:1])  # no edge leads into an unreachable loop
            loop = Loop(entries[0], entries, body, parent, parent.depth + 1 if parent else 1)
            loops.append(loop)
            cut = set(entries)
            work.append(([at for at in members if at not in cut], loop))
    return LoopForest(loops)


def _reachable(entry: Location, targets: Mapping[Location, tuple[Location, ...]]) -> set[Location]:
    reached = {entry}
    pending = [entry]
    while pending:
        for target in targets[pending.pop()]:
            if target not in reached:
                reached.add(target)
                pending.append(target)
    return reached


def components(nodes: Sequence[T], successors: Callable[[T], Iterable[T]]) -> list[list[T]]:
    """Return the strongly connected components of the graph on `nodes`, successors before predecessors.

    Successors that are not among the nodes are ignored. This is Tarjan's algorithm with an explicit stack."""
    inside = set(nodes)
    number: dict[T, int] = {}  # in order of discovery
    low: dict[T, int] = {}  # the least number reached so far within the component
    path: list[T] = []  # discovered, component not yet complete
    waiting: set[T] = set()  # the members of path
    complete: list[list[T]] = []
    stack: list[tuple[T, Iterator[T]]] = []  # being searched, with the successors still to be visited

    def enter(node: T) -> None:
        number[node] = low[node] = len(number)
        path.append(node)
        waiting.add(node)
        stack.append((node, iter(successors(node))))

    for root in nodes:
        if root not in number:
            enter(root)
        while stack:
            top, rest = stack[-1]
            for target in rest:
                if target in waiting:
                    low[top] = min(low[top], number[target])
                elif target in inside and target not in number:
                    enter(target)
                    break
            else:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    low[above] = min(low[above], low[top])
                if low[top] == number[top]:
                    component = _cut(path, top)
                    waiting.difference_update(component)
                    complete.append(component)
    return complete


def _cut(path: list[T], first: T) -> list[T]:
    """Remove the end of `path` from `first` on, and return it."""
    at = len(path) - 1
    while path[at] is not first:
        at -= 1
    removed = path[at:]
    del path[at:]
    return removed


def call_graph(program: Program) -> Mapping[str, tuple[str, ...]]:
    """Return for every procedure the procedures it calls, each once, in order of its edges."""
    return {
        name: tuple(dict.fromkeys(call.procedure for edge in procedure.edges for call in called(edge.op)))
        for name, procedure in program.procedures.items()
    }


def callees_of(program: Program) -> tuple[str, ...]:
    """Return the procedures except main, and main if it is called, in program order."""
    called = any(program.main in callees for callees in call_graph(program).values())
    return tuple(name for name in program.procedures if name != program.main or called)


def recursive(program: Program) -> tuple[tuple[str, ...], ...]:
    """Return the groups of mutually recursive procedures, callees before callers, each in program order."""
    calls = call_graph(program)
    order = {name: position for position, name in enumerate(calls)}
    groups = components(tuple(calls), calls.__getitem__)
    return tuple(
        tuple(sorted(group, key=order.__getitem__))
        for group in groups
        if len(group) > 1 or group[0] in calls[group[0]]
    )


# ------------------------------------------------------------------------- control dependence


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
    sources: list[list[int]] = [[] for _ in targets]
    for node, successors in enumerate(targets):
        for target in successors:
            sources[target].append(node)
    return reverse_postorder(len(targets) - 1, sources.__getitem__)


def reverse_postorder(start: T, successors: Callable[[T], Iterable[T]]) -> list[T]:
    """Return all nodes that `start` can reach, in reverse postorder of a depth-first search."""
    seen = {start}
    stack = [(start, iter(successors(start)))]
    finished: list[T] = []
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors(target))))
                break
        else:
            finished.append(node)
            stack.pop()
    finished.reverse()
    return finished

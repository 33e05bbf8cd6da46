"""Loops of procedures and recursion of programs.

A loop is a strongly connected component with a cycle; its *head* is the location of it that a depth-first
search meets first, and the loops inside it are those that remain when the head is taken out. Where control
can come into a loop only at the head it is a natural loop. An irreducible loop has further *entries*: where
control comes in beside the head. Every cycle passes through a head.

The algorithm is Havlak's ("Nesting of reducible and irreducible loops", 1997): from the last head in the
search to the first, find the body backwards from the edges that return to the head, then shrink it to one
node. It takes almost linear time, however deep loops are nested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from certus.core.program import Location, Procedure, Program, called

T = TypeVar("T")


class Loop:
    """A loop: where it is entered (the head first), the loop around it, and the depth (1 if outermost)."""

    __slots__ = ("_body", "_order", "_start", "_stop", "depth", "entries", "head", "parent")

    def __init__(
        self, head: Location, parent: Loop | None, order: Sequence[Location], start: int, stop: int
    ) -> None:
        self.head: Final = head
        self.parent: Final = parent
        self.depth: Final[int] = parent.depth + 1 if parent else 1
        self.entries: tuple[Location, ...] = (head,)
        self._order: Final = order  # in which the body of every loop is a stretch
        self._start: Final = start
        self._stop: Final = stop
        self._body: frozenset[Location] | None = None

    @property
    def body(self) -> frozenset[Location]:
        """All locations of the loop, those of inner loops included. Made when first asked for."""
        if self._body is None:
            self._body = frozenset(self._order[self._start : self._stop])
        return self._body

    def __repr__(self) -> str:
        return f"Loop({', '.join(at.name for at in self.entries)})"


class LoopForest:
    """The loops of one procedure: outer ones first, at equal depth ordered by the index of the head.

    `heads` are the entries of all loops, ordered by index; without them the procedure has no cycle."""

    __slots__ = ("_innermost", "heads", "loops")

    def __init__(self, loops: Iterable[Loop], innermost: Mapping[Location, Loop]) -> None:
        self.loops: Final = tuple(sorted(loops, key=lambda loop: (loop.depth, loop.head.index)))
        cut = {entry: None for loop in self.loops for entry in loop.entries}
        self.heads: Final = tuple(sorted(cut, key=lambda at: at.index))
        self._innermost: Final = innermost

    def innermost(self, location: Location) -> Loop | None:
        """The innermost loop around `location`; a head belongs to its own loop."""
        return self._innermost.get(location)

    def around(self, location: Location) -> Iterator[Loop]:
        """All loops around `location`, from the innermost outwards."""
        loop = self.innermost(location)
        while loop is not None:
            yield loop
            loop = loop.parent


def loop_forest(procedure: Procedure) -> LoopForest:
    """The loops of `procedure`, those not reachable from its entry included.

    An edge from unreachable code into a loop makes no entry."""
    search = _Search(procedure)
    bodies: dict[Location, list[Location]] = {}  # by head, without the head, inner loops as their heads
    shrunk: dict[Location, Location] = {}  # from a member of a body towards the head
    irreducible: list[Location] = []
    for head in reversed(search.order):
        if search.returning[head]:
            bodies[head], beside = _body(head, search, shrunk)
            if beside:
                search.entering[head].extend(beside)  # seen from outside, the loop is entered as a whole
                irreducible.append(head)
            for at in bodies[head]:
                shrunk[at] = head
    innermost = _nested(bodies, shrunk)
    for head in irreducible:
        loop = innermost[head]
        others = sorted(loop.body - {head}, key=lambda at: at.index)
        loop.entries = (head, *(at for at in others if not loop.body.issuperset(search.sources(at))))
    return LoopForest([innermost[head] for head in bodies], innermost)


class _Search:
    """A depth-first search of a procedure from its entry, then from what that did not reach.

    Edges from unreachable locations to reachable ones are left out."""

    def __init__(self, procedure: Procedure) -> None:
        self.order: list[Location] = []  # as discovered
        self._number: dict[Location, int] = {}  # the position in order
        self._last: dict[Location, int] = {}  # the greatest number among those found from a location
        self._visit(procedure.entry, procedure)
        reached = len(self.order)
        for root in procedure.locations:
            if root not in self._number:
                self._visit(root, procedure)
        self.returning: dict[Location, list[Location]] = {at: [] for at in self.order}
        self.entering: dict[Location, list[Location]] = {at: [] for at in self.order}
        self._predecessors = procedure.predecessors
        self._reached = reached
        for at in self.order:
            for source in self.sources(at):
                (self.returning if self.below(source, at) else self.entering)[at].append(source)

    def sources(self, at: Location) -> list[Location]:
        """The predecessors of `at`; of a reachable location the reachable ones."""
        limit = self._reached if self._number[at] < self._reached else len(self.order)
        return [e.source for e in self._predecessors[at] if self._number[e.source] < limit]

    def below(self, at: Location, ancestor: Location) -> bool:
        """Whether `at` was found from `ancestor`, or is it."""
        return self._number[ancestor] <= self._number[at] <= self._last[ancestor]

    def _visit(self, root: Location, procedure: Procedure) -> None:
        stack = [(root, iter(procedure.successors[root]))]
        self._discover(root)
        while stack:
            top, rest = stack[-1]
            for edge in rest:
                if edge.target not in self._number:
                    self._discover(edge.target)
                    stack.append((edge.target, iter(procedure.successors[edge.target])))
                    break
            else:
                self._last[top] = len(self.order) - 1
                stack.pop()

    def _discover(self, at: Location) -> None:
        self._number[at] = len(self.order)
        self.order.append(at)


def _body(
    head: Location, search: _Search, shrunk: dict[Location, Location]
) -> tuple[list[Location], list[Location]]:
    """The loop at `head` without the head, and the locations outside from which it is entered elsewhere."""
    found = dict.fromkeys(_outermost(at, shrunk) for at in search.returning[head])
    found.pop(head, None)
    beside: dict[Location, None] = {}
    work = list(found)
    while work:
        for source in search.entering[work.pop()]:
            at = _outermost(source, shrunk)
            if not search.below(at, head):
                beside[at] = None
            elif at is not head and at not in found:
                found[at] = None
                work.append(at)
    return list(found), list(beside)


def _outermost(at: Location, shrunk: dict[Location, Location]) -> Location:
    """The head of the outermost loop found so far around `at`; shortens the way for the next time."""
    while (head := shrunk.get(at)) is not None:
        further = shrunk.get(head)
        if further is None:
            return head
        shrunk[at] = further
        at = further
    return at


def _nested(
    bodies: Mapping[Location, Sequence[Location]], shrunk: Mapping[Location, Location]
) -> dict[Location, Loop]:
    """The innermost loop of every location that is in one. `bodies` has inner loops before outer ones."""
    sizes: dict[Location, int] = {}
    for head, body in bodies.items():
        sizes[head] = 1 + sum(sizes.get(at, 1) for at in body)
    innermost: dict[Location, Loop] = {}
    line: list[Location] = []  # every loop's body is a stretch of it
    stack: list[tuple[Location, Loop | None]] = [(head, None) for head in bodies if head not in shrunk]
    while stack:
        at, loop = stack.pop()
        if at in bodies:
            loop = Loop(at, loop, line, len(line), len(line) + sizes[at])
            stack.extend((inner, loop) for inner in bodies[at])
        assert loop is not None
        innermost[at] = loop
        line.append(at)
    return innermost


def components(nodes: Sequence[T], successors: Callable[[T], Iterable[T]]) -> list[list[T]]:
    """The strongly connected components of the graph on `nodes`, successors before predecessors.

    Successors that are not among the nodes are ignored. Tarjan's algorithm with an explicit stack."""
    inside = set(nodes)
    number: dict[T, int] = {}  # in order of discovery
    low: dict[T, int] = {}  # the least number known to be reachable within the component
    path: list[T] = []  # discovered, component not yet complete
    waiting: set[T] = set()  # the members of path
    found: list[list[T]] = []
    stack: list[tuple[T, Iterator[T]]] = []  # being searched, with the successors still to be looked at

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
                    found.append(component)
    return found


def _cut(path: list[T], first: T) -> list[T]:
    """Take off the end of `path` from `first` on."""
    at = len(path) - 1
    while path[at] is not first:
        at -= 1
    taken = path[at:]
    del path[at:]
    return taken


def call_graph(program: Program) -> Mapping[str, tuple[str, ...]]:
    """For every procedure those it calls, each once, in order of its edges."""
    return {
        name: tuple(dict.fromkeys(call.procedure for edge in procedure.edges for call in called(edge.op)))
        for name, procedure in program.procedures.items()
    }


def recursive(program: Program) -> tuple[tuple[str, ...], ...]:
    """The groups of mutually recursive procedures, callees before callers, each in program order."""
    calls = call_graph(program)
    order = {name: position for position, name in enumerate(calls)}
    groups = components(tuple(calls), calls.__getitem__)
    return tuple(
        tuple(sorted(group, key=order.__getitem__))
        for group in groups
        if len(group) > 1 or group[0] in calls[group[0]]
    )

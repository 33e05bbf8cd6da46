"""The control-flow graph of one procedure while it is being built.

Nodes are numbers. A statement is lowered between two given nodes; what takes no step (`;`, a label,
`goto`) makes its first node stand for another. `finish` then drops what is unreachable, follows the
stand-ins and numbers locations and edges in source order. A cycle of stand-ins is an endless loop
without any step: it gets one edge that does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from certus.core.build import TRUE
from certus.core.program import Assume, BasicOp, Edge, ErrorSite, Location
from certus.core.terms import Expr
from certus.frontend.lp import ast
from certus.frontend.source import Source


@dataclass(slots=True, eq=False)
class DraftEdge:
    order: int  # edges are numbered in this order
    source: int
    op: BasicOp
    target: int
    start: int
    end: int
    text: str
    branch: bool | None = None
    declares: bool = False  # a Havoc that makes declared variables nondeterministic: droppable


@dataclass(slots=True)
class DraftError:
    kind: str
    start: int
    end: int
    text: str


@dataclass(slots=True)
class Numbering:
    """The next free indices of the program."""

    locations: Iterator[int] = field(default_factory=count)
    edges: Iterator[int] = field(default_factory=count)


class Draft:
    """The graph of the procedure `name`. Node 0 is its entry, node 1 its exit."""

    ENTRY = 0
    EXIT = 1
    FIRST = -1  # the order of a step before, and one after all others
    LAST = 1 << 62

    def __init__(self, name: str, source: Source) -> None:
        self.name = name
        self.source = source
        self.edges: list[DraftEdge] = []
        self.stands_for: dict[int, int] = {}  # a node without steps -> the node it stands for
        self.reads: dict[int, list[tuple[Expr, ast.Node]]] = {}  # what the statement at a node reads
        self.loops: dict[int, tuple[int, int]] = {}  # loop heads, with the stretch of the loop
        self.errors: dict[int, DraftError] = {}
        self.spans: dict[int, tuple[int, int]] = {}
        self._jumps: dict[int, tuple[ast.Goto, int]] = {}
        self._nodes = count(2)
        self._order = count()

    def node(self) -> int:
        return next(self._nodes)

    def edge(
        self,
        source: int,
        op: BasicOp,
        target: int,
        node: ast.Node,
        text: str,
        *,
        branch: bool | None = None,
        declares: bool = False,
        order: int | None = None,
    ) -> None:
        """Add a step. It comes after those added before, unless `order` says otherwise."""
        self.spans.setdefault(source, (node.start, node.end))
        order = next(self._order) if order is None else order
        made = DraftEdge(order, source, op, target, node.start, node.end, text, branch, declares)
        self.edges.append(made)

    def skip(self, source: int, target: int) -> None:
        """Going from `source` to `target` takes no step."""
        self.stands_for[source] = target

    def jump(self, source: int, target: int, goto: ast.Goto) -> None:
        self._jumps[source] = (goto, next(self._order))
        self.skip(source, target)

    def drop(self, edges: Sequence[DraftEdge]) -> None:
        """Remove edges, each the only one from its source: they take no step any more."""
        for edge in edges:
            self.skip(edge.source, edge.target)
        dropped = set(edges)
        self.edges = [edge for edge in self.edges if edge not in dropped]

    def successors(self) -> dict[int, list[tuple[int, DraftEdge | None]]]:
        """The steps from each node; None stands for going on without a step."""
        found: dict[int, list[tuple[int, DraftEdge | None]]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append((edge.target, edge))
        for source, target in self.stands_for.items():
            found.setdefault(source, []).append((target, None))
        return found

    # -------------------------------------------------------------------------------- finishing

    def _resolve(self) -> dict[int, int]:
        """What every stand-in finally stands for."""
        final: dict[int, int] = {}
        for first in list(self.stands_for):
            path: dict[int, None] = {}
            node = first
            while node in self.stands_for and node not in final:
                if node in path:  # a cycle: cut it by an edge
                    node = self._cut(node)
                    break
                path[node] = None
                node = self.stands_for[node]
            end = final.get(node, node)
            for passed in path:
                if passed != end:
                    final[passed] = end
        return final

    def _cut(self, node: int) -> int:
        """Make one jump in a cycle of stand-ins an edge; its source then stands for itself."""
        while node not in self._jumps:
            node = self.stands_for[node]
        goto, order = self._jumps[node]
        target = self.stands_for.pop(node)
        self.edge(node, Assume(TRUE), target, goto, f"goto {goto.label};", order=order)
        return node

    def finish(self, numbering: Numbering, span: tuple[int, int]) -> Finished:
        """Locations and edges, numbered in source order; `span` is that of the whole procedure."""
        final = self._resolve()
        reached = self._reached(final)
        edges = [e for e in self.edges if final.get(e.source, e.source) in reached]
        edges.sort(key=lambda e: e.order)
        locations: dict[int, Location] = {}
        entry = final.get(self.ENTRY, self.ENTRY)
        leaving = {final.get(e.source, e.source) for e in edges}
        order = [entry] if entry != self.EXIT else []
        for e in edges:
            order.append(final.get(e.source, e.source))
            target = final.get(e.target, e.target)
            if target not in leaving and target != self.EXIT:
                order.append(target)
        for node in order:
            if node not in locations:
                locations[node] = self._location(node, numbering)
        self.spans[self.EXIT] = (span[1] - 1, span[1])
        locations[self.EXIT] = self._location(self.EXIT, numbering)
        made = [
            Edge(
                next(numbering.edges),
                locations[final.get(e.source, e.source)],
                e.op,
                locations[final.get(e.target, e.target)],
                self.source.span(e.start, e.end),
                e.branch,
                e.text,
            )
            for e in edges
        ]
        unreached = tuple(error for node, error in self.errors.items() if node not in locations)
        ends = locations[entry], locations[self.EXIT]
        return Finished(*ends, tuple(made), self._sites(locations), unreached)

    def _reached(self, final: dict[int, int]) -> set[int]:
        targets: dict[int, list[int]] = {}
        for edge in self.edges:
            source = final.get(edge.source, edge.source)
            targets.setdefault(source, []).append(final.get(edge.target, edge.target))
        entry = final.get(self.ENTRY, self.ENTRY)
        reached, stack = {entry}, [entry]
        while stack:
            for target in targets.get(stack.pop(), ()):
                if target not in reached:
                    reached.add(target)
                    stack.append(target)
        return reached

    def _location(self, node: int, numbering: Numbering) -> Location:
        start, end = self.spans.get(node, (0, 0))
        loop = self.loops.get(node)
        return Location(
            next(numbering.locations),
            self.name,
            self.source.span(start, end),
            self.source.span(*loop) if loop else None,
        )

    def _sites(self, locations: dict[int, Location]) -> tuple[ErrorSite, ...]:
        return tuple(
            ErrorSite(locations[node], error.kind, self.source.span(error.start, error.end), error.text)
            for node, error in self.errors.items()
            if node in locations
        )


@dataclass(frozen=True, slots=True)
class Finished:
    """The graph of a procedure; `unreached` are the errors that no path leads to."""

    entry: Location
    exit: Location
    edges: tuple[Edge, ...]
    errors: tuple[ErrorSite, ...]
    unreached: tuple[DraftError, ...]

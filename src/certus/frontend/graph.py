"""The control-flow graph of one procedure while it is being built.

Nodes are numbers. A statement is lowered between two given nodes. Some steps are only known when the whole
procedure has been seen (the objects that die at a jump, the functions a pointer may point to, the variables
without a value at the start), so a step is added with an `order` that may have been reserved earlier. What
takes no step (`;`, a label, `goto`) makes its node stand for another. `settle` drops what is unreachable and
follows the stand-ins; `number` then makes locations and edges. A cycle of stand-ins is an endless loop
without any step: it gets one edge that does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from certus.core.build import TRUE
from certus.core.diagnostic import Diagnostic, Span
from certus.core.program import Assume, BasicOp, Edge, ErrorSite, Location

Order = tuple[int, int]


@dataclass(slots=True, eq=False)
class DraftEdge:
    order: Order  # edges are numbered in this order
    source: int
    op: BasicOp
    target: int
    span: Span | None
    text: str
    branch: bool | None = None
    declares: bool = False  # a Havoc of a declared variable: dropped if the value is never read
    call: Span | None = None


@dataclass(frozen=True, slots=True)
class DraftError:
    kind: str
    span: Span | None
    text: str
    statement: Span | None
    function: str | None
    start: int | None


@dataclass(slots=True)
class Numbering:
    """The next free indices of the program."""

    locations: Iterator[int] = field(default_factory=count)
    edges: Iterator[int] = field(default_factory=count)


class Draft:
    """The graph of the procedure `name`. Node 0 is its entry, node 1 its exit."""

    ENTRY = 0
    EXIT = 1

    def __init__(self, name: str, span: Span | None) -> None:
        self.name = name
        self.span = span
        self.edges: list[DraftEdge] = []
        self.stands_for: dict[int, int] = {}  # a node without steps -> the node it stands for
        self.loops: dict[int, Span] = {}  # loop heads, with the stretch of the loop
        self.starts: dict[int, Span] = {}  # where statements start
        self.errors: dict[int, DraftError] = {}
        self.refusals: list[tuple[int, Diagnostic]] = []  # what is not modelled, and where it would matter
        self._spans: dict[int, Span | None] = {}
        self._jumps: dict[int, tuple[Span | None, str, Order]] = {}
        self._nodes = count(2)
        self._order = count()

    def node(self) -> int:
        return next(self._nodes)

    def reserve(self) -> int:
        """A place in the order of edges, for steps that are added later."""
        return next(self._order)

    def edge(
        self,
        source: int,
        op: BasicOp,
        target: int,
        span: Span | None,
        text: str,
        *,
        branch: bool | None = None,
        declares: bool = False,
        order: Order | None = None,
        call: Span | None = None,
    ) -> DraftEdge:
        """Add a step. It comes after those added before, unless `order` says otherwise."""
        self._spans.setdefault(source, span)
        place = order or (self.reserve(), 0)
        made = DraftEdge(place, source, op, target, span, text, branch, declares, call)
        self.edges.append(made)
        return made

    def skip(self, source: int, target: int) -> None:
        """Going from `source` to `target` takes no step."""
        self.stands_for[source] = target

    def jump(self, source: int, target: int, span: Span | None, text: str, order: Order) -> None:
        """As `skip`, for a jump in the source: if it must take a step, this is the text of it."""
        self._jumps[source] = (span, text, order)
        self.skip(source, target)

    def error(
        self,
        node: int,
        kind: str,
        span: Span | None,
        text: str,
        *,
        statement: Span | None = None,
        function: str | None = None,
        start: int | None = None,
    ) -> None:
        """Nothing may lead from `node`. The evaluation of what is claimed begins at `start`."""
        self.errors[node] = DraftError(kind, span, text, statement, function, start)
        self.place(node, span)

    def place(self, node: int, span: Span | None) -> None:
        """Where a node is that no step leads from; others are where their first step is."""
        self._spans[node] = span

    # -------------------------------------------------------------------------------- finishing

    def settle(self) -> Settled:
        """The reachable part, with stand-ins followed. May be called again after changes."""
        final = self._resolve()
        targets: dict[int, list[DraftEdge]] = {}
        for edge in self.edges:
            edge.source = final.get(edge.source, edge.source)
            edge.target = final.get(edge.target, edge.target)
            targets.setdefault(edge.source, []).append(edge)
        entry = final.get(self.ENTRY, self.ENTRY)
        reached, stack = {entry}, [entry]
        while stack:
            for edge in targets.get(stack.pop(), ()):
                if edge.target not in reached:
                    reached.add(edge.target)
                    stack.append(edge.target)
        edges = sorted((e for e in self.edges if e.source in reached), key=lambda e: e.order)
        refused = [d for node, d in self.refusals if final.get(node, node) in reached]
        return Settled(self, entry, edges, reached, final, refused)

    def _resolve(self) -> dict[int, int]:
        """What every stand-in finally stands for."""
        final: dict[int, int] = {}
        for first in list(self.stands_for):
            path: dict[int, None] = {}
            node = first
            while node in self.stands_for and node not in final:
                if node in path:
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
        """Make one member of a cycle of stand-ins a step; it then stands for itself."""
        first = node
        while node not in self._jumps:
            node = self.stands_for[node]
            if node == first:
                break
        span, text, order = self._jumps.get(node) or (self.span, ";", (self.reserve(), 0))
        target = self.stands_for.pop(node)
        self.edge(node, Assume(TRUE), target, span, text, order=order)
        return node

    def location_span(self, node: int) -> Span | None:
        return self._spans.get(node, self.span)

    def drop(self, dropped: set[DraftEdge]) -> None:
        """Remove edges, each the only one from its source: they take no step any more."""
        for edge in self.edges:
            if edge in dropped:
                self.skip(edge.source, edge.target)
        self.edges = [edge for edge in self.edges if edge not in dropped]


@dataclass(slots=True)
class Settled:
    """A draft whose edges are the reachable ones, in order."""

    draft: Draft
    entry: int
    edges: list[DraftEdge]
    reached: set[int]
    final: dict[int, int]
    refused: list[Diagnostic]

    def number(self, numbering: Numbering) -> Finished:
        """Locations and edges, numbered in source order, the exit last."""
        draft, final = self.draft, self.final
        loops: dict[int, Span] = {}
        for node, loop in draft.loops.items():
            loops.setdefault(final.get(node, node), loop)
        starts = {node: statement for node, statement in draft.starts.items() if node not in final}
        order = [self.entry] if self.entry != draft.EXIT else []
        leaving = {e.source for e in self.edges}
        for e in self.edges:
            order.append(e.source)
            if e.target not in leaving and e.target != draft.EXIT:
                order.append(e.target)
        locations: dict[int, Location] = {}
        for node in (*order, draft.EXIT):
            if node not in locations:
                span = draft.location_span(node)
                index = next(numbering.locations)
                locations[node] = Location(index, draft.name, span, loops.get(node), starts.get(node))
        edges = tuple(
            Edge(
                next(numbering.edges),
                locations[e.source],
                e.op,
                locations[e.target],
                e.span,
                e.branch,
                e.text,
                call=e.call,
            )
            for e in self.edges
        )
        starts_of = {
            node: None if error.start is None else locations.get(final.get(error.start, error.start))
            for node, error in draft.errors.items()
        }
        errors = tuple(
            ErrorSite(
                locations[final.get(node, node)],
                error.kind,
                error.span,
                error.text,
                error.statement,
                error.function,
                starts_of[node],
            )
            for node, error in draft.errors.items()
            if final.get(node, node) in locations
        )
        unreached = tuple(node for node in draft.errors if final.get(node, node) not in locations)
        decided = any(draft.errors[n].kind == "assertion" and starts_of[n] is not None for n in unreached)
        return Finished(locations[self.entry], locations[draft.EXIT], edges, errors, unreached, decided)


@dataclass(frozen=True, slots=True)
class Finished:
    """The graph of a procedure; `unreached` are the nodes of errors that no path leads to. `decided` is
    whether one of them belongs to an assertion that is reached: its condition is a true constant."""

    entry: Location
    exit: Location
    edges: tuple[Edge, ...]
    errors: tuple[ErrorSite, ...]
    unreached: tuple[int, ...]
    decided: bool

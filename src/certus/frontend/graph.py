"""Build the control-flow graph of one procedure.

Nodes are numbers. A statement is lowered between two nodes. Some steps are only known at the end of the
procedure (the objects that die at a jump, the functions a pointer may point to, the variables without a value
at the start), so a step can be added with an `order` that was reserved earlier. A statement without a step
(`;`, a label, `goto`) makes its node stand for another. `settle` drops unreachable nodes and replaces nodes
by those they stand for; `number` then creates locations and edges. A cycle of nodes that stand for each other
is an endless loop without any step: it gets one edge that does nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

from certus.core.build import TRUE
from certus.core.diagnostic import Diagnostic, Span
from certus.core.program import Assume, BasicOp, Edge, ErrorSite, Location, Program

Order = tuple[int, int]


@dataclass(slots=True, eq=False)
class DraftEdge:
    """An edge between two nodes, before locations are numbered."""

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
    """An error at a node; `start` is the node where the evaluation of the claim begins."""

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
    """The unfinished graph of the procedure `name`. Node 0 is its entry, node 1 its exit."""

    ENTRY = 0
    EXIT = 1

    def __init__(self, name: str, span: Span | None) -> None:
        self.name = name
        self.span = span
        self.edges: list[DraftEdge] = []
        self.stands_for: dict[int, int] = {}  # from a node without steps to the node it stands for
        self.loops: dict[int, Span] = {}  # loop heads, with the spans of the loops
        self.starts: dict[int, Span] = {}  # the first nodes of statements
        self.errors: dict[int, DraftError] = {}
        self.refusals: list[tuple[int, Diagnostic]] = []  # unsupported constructs and their nodes
        self._spans: dict[int, Span | None] = {}
        self._jumps: dict[int, tuple[Span | None, str, Order]] = {}
        self._nodes = count(2)
        self._order = count()

    def node(self) -> int:
        return next(self._nodes)

    def reserve(self) -> int:
        """Reserve a position in the order of edges, for steps that are added later."""
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
        """Add a step, after all earlier ones unless `order` is set."""
        self._spans.setdefault(source, span)
        place = order or (self.reserve(), 0)
        edge = DraftEdge(place, source, op, target, span, text, branch, declares, call)
        self.edges.append(edge)
        return edge

    def skip(self, source: int, target: int) -> None:
        """Go from `source` to `target` without a step."""
        self.stands_for[source] = target

    def jump(self, source: int, target: int, span: Span | None, text: str, order: Order) -> None:
        """Do `skip` for a jump in the source; `text` is the text of its step if it needs one."""
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
        """Make `node` an error, without successors. The evaluation of its claim begins at `start`."""
        self.errors[node] = DraftError(kind, span, text, statement, function, start)
        self.place(node, span)

    def place(self, node: int, span: Span | None) -> None:
        """Set the span of a node without successors; others have the span of their first step."""
        self._spans[node] = span

    # -------------------------------------------------------------------------------- finishing

    def settle(self) -> Settled:
        """Return the reachable part, without nodes that stand for others. Can be called again after
        changes."""
        final = self._resolve()
        first = final.get(self.ENTRY, self.ENTRY)
        if first in self.errors and first != self.ENTRY:
            self._step_to_error(first)
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
        unsupported = [d for node, d in self.refusals if final.get(node, node) in reached]
        return Settled(self, entry, edges, reached, final, unsupported)

    def _resolve(self) -> dict[int, int]:
        """Return the final node for every node that stands for another."""
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
        """Turn one node of a cycle of nodes that stand for each other into a step."""
        first = node
        while node not in self._jumps:
            node = self.stands_for[node]
            if node == first:
                break
        span, text, order = self._jumps.get(node) or (self.span, ";", (self.reserve(), 0))
        target = self.stands_for.pop(node)
        self.edge(node, Assume(TRUE), target, span, text, order=order)
        return node

    def _step_to_error(self, error: int) -> None:
        """Put a step between the entry and an error that follows without one: no error is at an entry."""
        at = self.errors[error]
        span, text, order = self._jumps.get(self.ENTRY) or (at.span, at.text, (self.reserve(), 0))
        del self.stands_for[self.ENTRY]
        self.edge(self.ENTRY, Assume(TRUE), error, span, text, order=order)

    def location_span(self, node: int) -> Span | None:
        return self._spans.get(node, self.span)

    def drop(self, dropped: set[DraftEdge]) -> None:
        """Remove edges that are the only ones from their sources."""
        for edge in self.edges:
            if edge in dropped:
                self.skip(edge.source, edge.target)
        self.edges = [edge for edge in self.edges if edge not in dropped]


@dataclass(slots=True)
class Settled:
    """A draft restricted to its reachable edges, in order."""

    draft: Draft
    entry: int
    edges: list[DraftEdge]
    reached: set[int]
    final: dict[int, int]
    refused: list[Diagnostic]

    def number(self, numbering: Numbering) -> Finished:
        """Create locations and edges, numbered in source order, the exit last."""
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
    """The graph of a procedure; `unreached` are unreachable error nodes. `decided` tells whether one of them
    belongs to a reachable assertion, whose condition is then constantly true."""

    entry: Location
    exit: Location
    edges: tuple[Edge, ...]
    errors: tuple[ErrorSite, ...]
    unreached: tuple[int, ...]
    decided: bool


@dataclass(frozen=True, slots=True)
class LoadedProgram:
    """A well-formed program and warnings about it."""

    program: Program
    warnings: tuple[Diagnostic, ...] = ()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause garbage collection inside the `with` block. Otherwise it would traverse all the objects of a
    front end repeatedly, which takes half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

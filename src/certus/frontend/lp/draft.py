"""Build the graph of a procedure, with positions from nodes of the syntax tree."""

from __future__ import annotations

from typing import Final

from certus.core.program import BasicOp
from certus.core.terms import Expr
from certus.frontend.graph import Draft, DraftEdge, Finished, Numbering, Order
from certus.frontend.lp import ast
from certus.frontend.source import Source


class TreeDraft(Draft):
    """The unfinished graph of `unit`. `reads` are the variables that the statement at a node reads, with
    their positions; `claims` are the syntax nodes that are violated at errors."""

    FIRST: Final[Order] = (-1, 0)  # before all other steps
    LAST: Final[Order] = (1 << 62, 0)  # after all other steps

    def __init__(self, unit: ast.ProcedureDefinition, source: Source) -> None:
        super().__init__(unit.name, source.span(unit.start, unit.end))
        self.place(self.EXIT, source.span(unit.end - 1, unit.end))
        self.reads: dict[int, list[tuple[Expr, ast.Node]]] = {}
        self.claims: dict[int, ast.Node] = {}
        self._source = source

    def step(
        self,
        source: int,
        op: BasicOp,
        target: int,
        node: ast.Node,
        text: str,
        *,
        branch: bool | None = None,
        declares: bool = False,
        order: Order | None = None,
    ) -> None:
        """Add a step of a statement, after all earlier ones unless `order` is set."""
        span = self._source.span(node.start, node.end)
        self.edge(source, op, target, span, text, branch=branch, declares=declares, order=order)

    def loop(self, head: int, statement: ast.While) -> None:
        self.loops[head] = self._source.span(statement.start, statement.end)

    def end(self, node: int, place: ast.Node) -> None:
        """Make `node` a node without successors."""
        self.place(node, self._source.span(place.start, place.end))

    def goto(self, source: int, target: int, goto: ast.Goto) -> None:
        span = self._source.span(goto.start, goto.end)
        self.jump(source, target, span, f"goto {goto.label};", (self.reserve(), 0))

    def claim(self, node: int, kind: str, place: ast.Node, text: str, *, start: int | None = None) -> None:
        """Make `node` an error: the claim at `place`, whose evaluation begins at `start`, is violated."""
        self.error(node, kind, self._source.span(place.start, place.end), text, start=start)
        self.claims[node] = place

    def successors(self) -> dict[int, list[tuple[int, DraftEdge | None]]]:
        """Return the steps from each node; None is a transition without a step."""
        successors: dict[int, list[tuple[int, DraftEdge | None]]] = {}
        for edge in self.edges:
            successors.setdefault(edge.source, []).append((edge.target, edge))
        for source, target in self.stands_for.items():
            successors.setdefault(source, []).append((target, None))
        return successors

    def finish(self, numbering: Numbering) -> Finished:
        """Create locations and edges, numbered in source order."""
        return self.settle().number(numbering)

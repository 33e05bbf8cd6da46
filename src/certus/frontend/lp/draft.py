"""The graph of a procedure while it is being built; its places are given by nodes of the syntax tree."""

from __future__ import annotations

from typing import Final

from certus.core.program import BasicOp
from certus.core.terms import Expr
from certus.frontend.graph import Draft, DraftEdge, Finished, Numbering, Order
from certus.frontend.lp import ast
from certus.frontend.source import Source


class TreeDraft(Draft):
    """The graph of `unit`. `reads` are the variables that the statement at a node reads, and where; `claims`
    what would be violated at an error."""

    FIRST: Final[Order] = (-1, 0)  # the order of a step before, and one after all others
    LAST: Final[Order] = (1 << 62, 0)

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
        """Add a step of a statement. It comes after those added before, unless `order` says otherwise."""
        span = self._source.span(node.start, node.end)
        self.edge(source, op, target, span, text, branch=branch, declares=declares, order=order)

    def loop(self, head: int, statement: ast.While) -> None:
        self.loops[head] = self._source.span(statement.start, statement.end)

    def end(self, node: int, place: ast.Node) -> None:
        """Nothing leads from `node`."""
        self.place(node, self._source.span(place.start, place.end))

    def goto(self, source: int, target: int, goto: ast.Goto) -> None:
        span = self._source.span(goto.start, goto.end)
        self.jump(source, target, span, f"goto {goto.label};", (self.reserve(), 0))

    def claim(self, node: int, kind: str, place: ast.Node, text: str, *, start: int | None = None) -> None:
        """`node` is an error: what is claimed at `place`, and evaluated from `start` on, does not hold."""
        self.error(node, kind, self._source.span(place.start, place.end), text, start=start)
        self.claims[node] = place

    def successors(self) -> dict[int, list[tuple[int, DraftEdge | None]]]:
        """The steps from each node; None stands for going on without a step."""
        found: dict[int, list[tuple[int, DraftEdge | None]]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append((edge.target, edge))
        for source, target in self.stands_for.items():
            found.setdefault(source, []).append((target, None))
        return found

    def finish(self, numbering: Numbering) -> Finished:
        """Locations and edges, numbered in source order."""
        return self.settle().number(numbering)

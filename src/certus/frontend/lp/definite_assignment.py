"""Find variables that may be read before they are written (definite assignment).

Sets of variables are bits of an integer, for a few thousand variables at a time, so that large procedures do
not need quadratic memory. Branches with a constantly false condition do not count.

A local has two bits: "unwritten since the entry" (which only a jump past its declaration leaves set at a
read) and "unwritten since its declaration".
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from certus.core.build import FALSE
from certus.core.effects import targets
from certus.core.loops import reverse_postorder
from certus.core.program import Assume, Call
from certus.core.terms import Expr
from certus.frontend.graph import DraftEdge
from certus.frontend.lp import ast
from certus.frontend.lp.draft import TreeDraft

_CHUNK: Final = 2048  # variables in one analysis
Transfer = Callable[[DraftEdge, int], int]
Read = tuple[Expr, ast.Node]


class Flow:
    """The graph of a procedure, prepared for forward analyses."""

    def __init__(self, draft: TreeDraft) -> None:
        self.draft = draft
        self._successors: dict[int, list[tuple[int, DraftEdge | None]]] = {}
        for source, steps in draft.successors().items():
            self._successors[source] = [step for step in steps if not _never(step[1])]
        order = reverse_postorder(
            TreeDraft.ENTRY, lambda node: [target for target, _ in self._successors.get(node, ())]
        )
        self._rank = {node: i for i, node in enumerate(order)}

    @property
    def reached(self) -> Mapping[int, int]:
        """Return the reachable nodes with their rank in the analysis."""
        return self._rank

    def solve(self, entry: int, transfer: Transfer) -> dict[int, int]:
        """Return the least fixpoint: at each node, the union of `transfer` along all paths from `entry`."""
        states = {TreeDraft.ENTRY: entry}
        waiting = [(0, TreeDraft.ENTRY)]
        while waiting:
            node = heapq.heappop(waiting)[1]
            while waiting and waiting[0][1] == node:
                heapq.heappop(waiting)
            state = states[node]
            for target, edge in self._successors.get(node, ()):
                reached = state if edge is None else transfer(edge, state)
                previous = states.get(target)
                if previous is None or reached & ~previous:
                    states[target] = reached | (previous or 0)
                    heapq.heappush(waiting, (self._rank[target], target))
        return states

    def edges(self) -> Iterator[DraftEdge]:
        """Yield the reachable edges."""
        return (e for e in self.draft.edges if e.source in self._rank and not _never(e))


def _never(edge: DraftEdge | None) -> bool:
    return edge is not None and isinstance(edge.op, Assume) and edge.op.condition is FALSE


class UnwrittenLocals:
    """The locals of one procedure that may be read unwritten, each with its first such read."""

    def __init__(self, flow: Flow, locals_: Sequence[Expr]) -> None:
        self.since_entry: dict[Expr, ast.Node] = {}
        self.since_declaration: dict[Expr, ast.Node] = {}
        used = {variable for reads in flow.draft.reads.values() for variable, _ in reads}
        candidates = [v for v in locals_ if v in used]
        for at in range(0, len(candidates), _CHUNK):
            self._solve(flow, candidates[at : at + _CHUNK])

    def _solve(self, flow: Flow, variables: Sequence[Expr]) -> None:
        bit = {variable: 1 << 2 * i for i, variable in enumerate(variables)}
        effects: dict[DraftEdge, tuple[int, int]] = {}
        for edge in flow.edges():
            bits = sum(bit.get(v, 0) for v in targets(edge.op))
            if bits:
                effects[edge] = (~(3 * bits), 2 * bits if edge.declares else 0)

        def transfer(edge: DraftEdge, state: int) -> int:
            effect = effects.get(edge)
            return state if effect is None else state & effect[0] | effect[1]

        states = flow.solve(sum(bit.values()), transfer)
        for node, reads in sorted(flow.draft.reads.items()):
            for variable, place in reads if node in states else ():
                own = bit.get(variable, 0)
                if states[node] & own:
                    _keep_first(self.since_entry, variable, place)
                if states[node] & 2 * own:
                    _keep_first(self.since_declaration, variable, place)


def unwritten_globals(flows: Mapping[str, Flow], main: str, free: Sequence[Expr]) -> dict[Expr, ast.Node]:
    """Return the first read of each of the `free` globals that may be unwritten there."""
    first_reads: dict[Expr, ast.Node] = {}
    used = {v for flow in flows.values() for reads in flow.draft.reads.values() for v, _ in reads}
    candidates = [v for v in free if v in used]
    for at in range(0, len(candidates), _CHUNK):
        _Globals(flows, candidates[at : at + _CHUNK]).collect(main, first_reads)
    return first_reads


class _Globals:
    """The interprocedural analysis for some globals. `_written[p]` are those that `p` writes on every path to
    its exit (all, if it never returns)."""

    def __init__(self, flows: Mapping[str, Flow], variables: Sequence[Expr]) -> None:
        self._flows = flows
        self._bit = {variable: 1 << i for i, variable in enumerate(variables)}
        self._all = (1 << len(variables)) - 1
        self._own = {
            name: {e: bits for e in flow.edges() if (bits := self._bits(e))} for name, flow in flows.items()
        }
        self._calls = {
            name: [(e.source, e.op.procedure) for e in flow.edges() if isinstance(e.op, Call)]
            for name, flow in flows.items()
        }
        self._written = dict.fromkeys(flows, self._all)
        self._find_written()

    def _bits(self, edge: DraftEdge) -> int:
        return sum(self._bit.get(v, 0) for v in targets(edge.op))

    def _states(self, name: str, entry: int) -> dict[int, int]:
        own = self._own[name]

        def transfer(edge: DraftEdge, state: int) -> int:
            if isinstance(edge.op, Call):
                state &= ~self._written[edge.op.procedure]
            return state & ~own.get(edge, 0)

        return self._flows[name].solve(entry, transfer)

    def _find_written(self) -> None:
        callers: dict[str, dict[str, None]] = {name: {} for name in self._flows}
        for name, calls in self._calls.items():
            for _, callee in calls:
                callers[callee][name] = None
        waiting = dict.fromkeys(self._flows)
        while waiting:
            name = next(iter(waiting))
            del waiting[name]
            unwritten = self._states(name, self._all).get(TreeDraft.EXIT, 0)
            if unwritten & self._written[name]:
                self._written[name] = self._all & ~unwritten
                waiting.update(callers[name])

    def collect(self, main: str, first_reads: dict[Expr, ast.Node]) -> None:
        entry = {main: self._all}
        states: dict[str, dict[int, int]] = {}
        waiting = {main: None}
        while waiting:
            name = next(iter(waiting))
            del waiting[name]
            states[name] = self._states(name, entry[name])
            for node, callee in self._calls[name]:
                state = states[name].get(node, 0)
                if callee not in entry or state & ~entry[callee]:
                    entry[callee] = entry.get(callee, 0) | state
                    waiting[callee] = None
        for name, reached in states.items():
            for node, reads in sorted(self._flows[name].draft.reads.items()):
                for variable, place in reads:
                    if reached.get(node, 0) & self._bit.get(variable, 0):
                        _keep_first(first_reads, variable, place)


def _keep_first(first_reads: dict[Expr, ast.Node], variable: Expr, place: ast.Node) -> None:
    first = first_reads.get(variable)
    if first is None or place.start < first.start:
        first_reads[variable] = place

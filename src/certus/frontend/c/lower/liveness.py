"""Which locals may be read before they are written: backward liveness, with sets as bits of integers."""

from __future__ import annotations

from collections.abc import Sequence

from certus.core.program import Alloc, Assign, Assume, BasicOp, Call, Free, Havoc, Load, Return, Store
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.frontend.graph import Settled


def reads(op: BasicOp) -> tuple[Expr, ...]:
    """The terms whose values a step needs."""
    if isinstance(op, Assign | Return):
        return op.values
    if isinstance(op, Assume):
        return (op.condition,)
    if isinstance(op, Call):
        return op.arguments
    if isinstance(op, Load | Free):
        return (op.address,)
    if isinstance(op, Store):
        return (op.address, op.value)
    return (op.size,) if isinstance(op, Alloc) else ()


def writes(op: BasicOp) -> tuple[Expr, ...]:
    """The variables a step gives a value."""
    if isinstance(op, Assign | Havoc | Call):
        return op.targets
    return (op.target,) if isinstance(op, Load | Alloc) else ()


class Liveness:
    """Of the variables `candidates` in a settled graph."""

    def __init__(self, graph: Settled, candidates: Sequence[Expr]) -> None:
        self._bit = {v: 1 << number for number, v in enumerate(candidates)}
        self._graph = graph
        self._live: dict[int, int] = {}
        if candidates:
            self._solve()

    def _solve(self) -> None:
        incoming: dict[int, list[tuple[int, int, int]]] = {}
        used: dict[Expr, int] = {}
        for edge in self._graph.edges:
            read = 0
            for term in reads(edge.op):
                if term not in used:
                    used[term] = self._mask(variables(term))
                read |= used[term]
            kept = ~self._mask(writes(edge.op))
            incoming.setdefault(edge.target, []).append((edge.source, read, kept))
        live = self._live
        pending = dict.fromkeys(incoming)
        while pending:
            node, _ = pending.popitem()
            now = live.get(node, 0)
            for source, read, kept in incoming.get(node, ()):
                before = live.get(source, 0)
                after = before | read | (now & kept)
                if after != before:
                    live[source] = after
                    pending[source] = None

    def _mask(self, found: Sequence[Expr]) -> int:
        mask = 0
        for variable in found:
            mask |= self._bit.get(variable, 0)
        return mask

    def at(self, node: int) -> tuple[Expr, ...]:
        """The candidates that may be read, before they are written, from this node on."""
        live = self._live.get(node, 0)
        return tuple(v for v, bit in self._bit.items() if live & bit)

    def is_live(self, variable: Expr, node: int) -> bool:
        return bool(self._live.get(node, 0) & self._bit.get(variable, 0))

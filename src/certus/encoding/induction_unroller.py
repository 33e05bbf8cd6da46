"""Unroll one procedure for `kind`: executions by the number of loop heads they have passed.

A *start* is the entry with the initial values, or any head with arbitrary ones. A layer leads from its starts
to the next heads, which are the starts of the next layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from certus.core import build
from certus.core.evidence import Trace
from certus.core.loops import loop_forest
from certus.core.program import Location, Procedure, Program
from certus.core.solver import Solver
from certus.core.terms import Expr, Value
from certus.core.walk import substitute
from certus.encoding.unrolling import Arrival, GrowingFormula, Node, arrivals_to


class Layers(GrowingFormula):
    """The executions of the main procedure, which calls no other, from one kind of start.

    `facts` are formulas that hold whenever control is at a head; they are assumed there."""

    def __init__(self, program: Program, solver: Solver, facts: Mapping[Location, Expr], name: str) -> None:
        super().__init__(program, solver, prefix=name)
        self.procedure: Procedure = program.procedures[program.main]
        self.facts = facts
        self._heads = frozenset(loop_forest(self.procedure).heads)
        self._order = _order(self.procedure, self._heads)
        self._waiting: dict[Location, Node] = {}  # the nodes that the next layer starts from

    def from_entry(self) -> None:
        """Start at the entry, with the values the program starts with."""
        start = Node(self.procedure.entry, build.TRUE, dict(self.program.initial))
        self._waiting = {self.procedure.entry: start}

    def from_heads(self) -> None:
        """Start at any one head, with any values that its facts allow."""
        for head in sorted(self._heads, key=lambda at: at.index):
            node = self._waiting[head] = Node(head, self._literal(), {})
            self.solver.add(build.implies(node.literal, self.facts.get(head, build.TRUE)))

    def extend(self) -> list[Node]:
        """Add a layer, from the waiting nodes to the next heads, and return its error nodes."""
        starts, self._waiting = self._waiting, {}
        reached: dict[Location, list[tuple[Arrival, Mapping[Expr, Expr]]]] = {}
        errors: list[Node] = []
        for at in self._order:
            node = starts.get(at)
            if node is None and at in reached and at not in self._heads:
                node = self._joined(at, reached.pop(at))
            if node is None:
                continue
            if at in self.program.error_locations:
                errors.append(node)
            for edge in self.procedure.successors[at]:
                instance = self._instance(edge, node.values)
                if instance is None:
                    continue
                selector = self._literal()
                self.solver.add(build.implies(selector, build.and_(node.literal, instance.guard)))
                arrival = Arrival(node, edge, instance, selector)
                reached.setdefault(edge.target, []).append((arrival, {**node.values, **instance.values}))
        for head, arrivals in reached.items():
            node = self._waiting[head] = self._joined(head, arrivals)
            if head in self.facts:
                self.solver.add(build.implies(node.literal, substitute(self.facts[head], node.values)))
        return errors

    def _joined(self, at: Location, arrivals: list[tuple[Arrival, Mapping[Expr, Expr]]]) -> Node:
        if len(arrivals) == 1:
            (arrival, values), *_ = arrivals
            return Node(at, arrival.selector, dict(values), arrivals=[arrival])
        node = Node(at, self._literal(), {}, arrivals=[arrival for arrival, _ in arrivals])
        self.solver.add(build.implies(node.literal, build.disjunction(a.selector for a in node.arrivals)))
        for x in dict.fromkeys(x for _, values in arrivals for x in values):
            choices = [values.get(x, x) for _, values in arrivals]
            if all(choice is choices[0] for choice in choices):
                node.values[x] = choices[0]
                continue
            merged = node.values[x] = self._fresh(x)
            for (arrival, _), choice in zip(arrivals, choices, strict=True):
                self.solver.add(build.implies(arrival.selector, build.eq(merged, choice)))
        return node

    def trace(self, error: Node, value: Callable[[Expr], Value]) -> Trace:
        """Return the execution from the entry to `error` in the model that `value` reads."""
        free = {x: x for x in self.program.globals if x not in self.program.initial}
        return self._trace(error.location, arrivals_to(error, value), free, value)


def _order(procedure: Procedure, heads: frozenset[Location]) -> list[Location]:
    """Return all locations, sources before targets, without regard to steps to a head."""
    order: list[Location] = []
    seen: set[Location] = set()
    for root in procedure.locations:
        stack = [(root, False)]
        while stack:
            at, done = stack.pop()
            if done:
                order.append(at)
            elif at not in seen:
                seen.add(at)
                stack.append((at, True))
                stack.extend((e.target, False) for e in procedure.successors[at] if e.target not in heads)
    order.reverse()
    return order

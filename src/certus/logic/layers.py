"""Executions of one procedure by the number of loop heads they have passed, as one growing formula.

A node is a location after so many heads. A *start* is the entry with the initial values, or any head with
arbitrary ones; a layer leads from its starts to the next heads, which start the layer after it. Each node
has a literal that implies an execution comes there, and the values of the variables; where several
blocks arrive, selectors say which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from certus.core import build
from certus.core.evidence import Trace
from certus.core.loops import loop_forest
from certus.core.program import Choice, Edge, Havoc, Location, Procedure, Program, Seq
from certus.core.sorts import BOOL, ArraySort
from certus.core.terms import Expr, Value
from certus.core.walk import substitute
from certus.logic.blocks import BlockFormula, Instance, block_formula
from certus.logic.solver import Solver


@dataclass(slots=True, eq=False)
class Node:
    """A location after some heads. `arrivals`: the ways to it, none for a start."""

    location: Location
    literal: Expr  # implies: an execution comes here
    values: dict[Expr, Expr] = field(default_factory=dict)
    arrivals: list[Arrival] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A way to a node: from `source`, through a block."""

    source: Node
    instance: Instance
    selector: Expr


class Layers:
    """The executions of the main procedure, which calls nothing, from one kind of start.

    `facts` are formulas that hold whenever control is at a head; they are assumed there."""

    def __init__(self, program: Program, solver: Solver, facts: Mapping[Location, Expr], name: str) -> None:
        self.program = program
        self.procedure: Procedure = program.procedures[program.main]
        self.solver = solver
        self.facts = facts
        self.errors: list[list[Node]] = []  # by layer
        self._name = name
        self._heads = frozenset(loop_forest(self.procedure).heads)
        self._order = _order(self.procedure, self._heads)
        self._numbers = count()
        self._formulas: dict[Edge, BlockFormula | None] = {}
        self._waiting: dict[Location, Node] = {}  # the nodes that the next layer starts from

    def from_entry(self) -> None:
        """Start at the entry, with the values the program starts with."""
        start = Node(self.procedure.entry, build.TRUE, dict(self.program.initial))
        self._waiting = {self.procedure.entry: start}

    def from_heads(self) -> None:
        """Start at any one head, with any values that its facts allow."""
        for head in sorted(self._heads, key=lambda at: at.index):
            node = self._waiting[head] = Node(head, self._literal())
            self.solver.add(build.implies(node.literal, self.facts.get(head, build.TRUE)))

    def extend(self) -> list[Node]:
        """One more layer: from the waiting nodes to the next heads; its error nodes."""
        starts, self._waiting = self._waiting, {}
        found: dict[Location, list[tuple[Arrival, Mapping[Expr, Expr]]]] = {}
        errors: list[Node] = []
        for at in self._order:
            node = starts.get(at)
            if node is None and at in found and at not in self._heads:
                node = self._joined(at, found.pop(at))
            if node is None:
                continue
            if at in self.program.error_locations:
                errors.append(node)
            for edge in self.procedure.successors[at]:
                self._follow(node, edge, found)
        for head, arrivals in found.items():
            node = self._waiting[head] = self._joined(head, arrivals)
            if head in self.facts:
                self.solver.add(build.implies(node.literal, substitute(self.facts[head], node.values)))
        self.errors.append(errors)
        return errors

    def _follow(
        self, node: Node, edge: Edge, found: dict[Location, list[tuple[Arrival, Mapping[Expr, Expr]]]]
    ) -> None:
        formula = self._formula(edge)
        if formula is None:
            return
        instance = formula.instance(next(self._numbers), node.values)
        if instance.guard is build.FALSE:
            return
        selector = self._literal()
        for definition in instance.definitions:
            self.solver.add(definition)
        self.solver.add(build.implies(selector, build.and_(node.literal, instance.guard)))
        arrival = Arrival(node, instance, selector)
        found.setdefault(edge.target, []).append((arrival, {**node.values, **instance.values}))

    def _joined(self, at: Location, arrivals: list[tuple[Arrival, Mapping[Expr, Expr]]]) -> Node:
        if len(arrivals) == 1:
            (arrival, values), *_ = arrivals
            return Node(at, arrival.selector, dict(values), [arrival])
        node = Node(at, self._literal(), arrivals=[arrival for arrival, _ in arrivals])
        self.solver.add(build.implies(node.literal, build.disjunction(a.selector for a in node.arrivals)))
        for x in dict.fromkeys(x for _, values in arrivals for x in values):
            ways = [values.get(x, x) for _, values in arrivals]
            if all(way is ways[0] for way in ways):
                node.values[x] = ways[0]
                continue
            merged = node.values[x] = build.var(f"{x.name}@{self._name}{next(self._numbers)}", x.sort)
            for (arrival, _), way in zip(arrivals, ways, strict=True):
                self.solver.add(build.implies(arrival.selector, build.eq(merged, way)))
        return node

    def _formula(self, edge: Edge) -> BlockFormula | None:
        if edge not in self._formulas:
            live = () if edge.target in self.program.error_locations else None
            block = edge.op if isinstance(edge.op, Seq | Choice) else edge
            self._formulas[edge] = block_formula(block, self.procedure, live=live)
        return self._formulas[edge]

    def some(self, nodes: list[Node]) -> Expr:
        """A literal that implies an execution comes to one of the nodes."""
        literal = self._literal()
        self.solver.add(build.implies(literal, build.disjunction(node.literal for node in nodes)))
        return literal

    def _literal(self) -> Expr:
        return build.var(f"@{self._name}{next(self._numbers)}", BOOL)

    # ------------------------------------------------------------------------------------ traces

    def trace(self, error: Node, value: Callable[[Expr], Value]) -> Trace:
        """The execution from the entry to `error` in the model that `value` reads."""
        passed: list[Instance] = []
        node = error
        while node.arrivals:
            ways = node.arrivals
            arrival = next(a for a in ways if len(ways) == 1 or value(a.selector))
            passed.append(arrival.instance)
            node = arrival.source
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for instance in reversed(passed):
            for passage in instance.path(value):
                if isinstance(passage.edge.op, Havoc):
                    inputs.setdefault(passage.edge.key, []).append(passage.inputs)
        free = (x for x in self.program.globals if x not in self.program.initial)
        initial = {x: value(x) for x in free if not isinstance(x.sort, ArraySort)}
        return Trace(error.location.name, initial, {edge: tuple(v) for edge, v in inputs.items()})


def _order(procedure: Procedure, heads: frozenset[Location]) -> list[Location]:
    """All locations, sources before targets, steps to a head aside."""
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

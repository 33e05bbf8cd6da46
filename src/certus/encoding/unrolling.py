"""Unrolled executions as a formula that only grows: what the unrollers of `bmc` and `kind` share; and the
shape of a procedure: its loops, an order of its visits, the variables it may write.

A *node* is a location after a certain history. Its literal implies that an execution comes there, and its
values are the variables as terms. The steps to a node are its *arrivals*; each has a literal of its own, its
*selector*. Raising a bound adds definitions to the solver and never retracts any.

`encoding.unroller` counts the entries of each loop and enters calls; `encoding.induction_unroller` counts all
loop heads passed, and may start at any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from certus.core import build
from certus.core.effects import procedure_writes
from certus.core.evidence import Trace
from certus.core.loops import Loop, LoopForest, loop_forest, recursive
from certus.core.program import Call, Edge, Havoc, Location, Procedure, Program
from certus.core.solver import Solver
from certus.core.terms import BOOL, ArraySort, Expr, Value
from certus.encoding.block_formula import BlockFormula, Instance, edge_formula


@dataclass(slots=True, eq=False)
class Node:
    """A location of the unrolled program. A node without `arrivals` is a start."""

    location: Location
    literal: Expr  # implies: an execution comes here
    values: dict[Expr, Expr]
    arrivals: list[Arrival] = field(default_factory=list, kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A step from `source` over `edge`, through a block (`instance`) or, without one, by call or return."""

    source: Node
    edge: Edge
    instance: Instance | None
    selector: Expr


class GrowingFormula:
    """The definitions, in `solver`, of executions of `program`. `prefix` makes the literals unique if several
    such formulas are used together."""

    def __init__(self, program: Program, solver: Solver, prefix: str = "") -> None:
        self.program = program
        self.solver = solver
        self._prefix = prefix
        self._formulas: dict[Edge, BlockFormula | None] = {}
        self._numbers = count()

    def some(self, literals: Sequence[Expr]) -> Expr:
        """Return a literal that implies one of `literals`."""
        if len(literals) == 1:
            return literals[0]
        literal = self._literal()
        self.solver.add(build.implies(literal, build.disjunction(literals)))
        return literal

    def _instance(self, edge: Edge, values: Mapping[Expr, Expr]) -> Instance | None:
        """Define a visit of the block of an edge; return None if it cannot be executed with the values."""
        if edge not in self._formulas:
            self._formulas[edge] = edge_formula(edge, self.program)
        formula = self._formulas[edge]
        instance = None if formula is None else formula.instance(next(self._numbers), values)
        if instance is None or instance.guard is build.FALSE:
            return None
        self.solver.add(*instance.definitions)
        return instance

    def _literal(self) -> Expr:
        return build.var(f"@{self._prefix}{next(self._numbers)}", BOOL)

    def _fresh(self, variable: Expr) -> Expr:
        return build.var(f"{variable.name}@{self._prefix}{next(self._numbers)}", variable.sort)

    def _trace(
        self,
        error: Location,
        arrivals: Iterable[Arrival],
        initial: Mapping[Expr, Expr],
        value: Callable[[Expr], Value],
    ) -> Trace:
        """Return the execution over `arrivals`, the last one first, in the model that `value` reads.
        `initial` has the symbols for the globals without an initial value."""
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for arrival in reversed(list(arrivals)):
            for passage in arrival.instance.path(value) if arrival.instance is not None else ():
                if isinstance(passage.edge.op, Havoc):
                    inputs.setdefault(passage.edge.key, []).append(passage.inputs)
        scalars = {x: value(symbol) for x, symbol in initial.items() if not isinstance(x.sort, ArraySort)}
        return Trace(error.name, scalars, {edge: tuple(values) for edge, values in inputs.items()})


def arrivals_to(node: Node, value: Callable[[Expr], Value]) -> Iterable[Arrival]:
    """Yield the arrivals of the execution to `node` in the model that `value` reads, the last one first."""
    while node.arrivals:
        arrival = next(a for a in node.arrivals if len(node.arrivals) == 1 or value(a.selector))
        yield arrival
        node = arrival.source


# ------------------------------------------------------------------------------ shapes of procedures


@dataclass(frozen=True)
class Shape:
    """A procedure as the unroller needs it.

    `written`: the variables (globals and its own) that an activation may write, callees included.
    `recursive`: it can be active more than once."""

    procedure: Procedure
    forest: LoopForest
    written: tuple[Expr, ...]
    recursive: bool

    @cached_property
    def at_exit(self) -> tuple[Expr, ...]:
        """The written variables that outlive an activation: globals and results."""
        own = set(self.procedure.variables) - set(self.procedure.results)
        return tuple(x for x in self.written if x not in own)

    @cached_property
    def _chains(self) -> Mapping[Location, tuple[Loop, ...]]:
        return {at: tuple(self.forest.around(at))[::-1] for at in self.procedure.locations}

    def enclosing(self, location: Location) -> tuple[Loop, ...]:
        """Return the loops around a location, outermost first."""
        return self._chains[location]

    def simple(self, loop: Loop) -> bool:
        """Return whether the loop neither contains nor is inside another, and has no call."""
        return loop.depth == 1 and loop not in self._manifold

    @cached_property
    def _manifold(self) -> frozenset[Loop]:
        """The loops that contain another loop or a call."""
        parents = (loop.parent for loop in self.forest.loops)
        calls = (edge.source for edge in self.procedure.edges if isinstance(edge.op, Call))
        around = (loop for at in calls for loop in self.forest.around(at))
        return frozenset(loop for loop in (*parents, *around) if loop is not None)

    def counts(self, source: Location | None, counts: tuple[int, ...], target: Location) -> tuple[int, ...]:
        """Return the loop counts at `target` after a step from `source` with `counts`.

        Each loop that contains both keeps its count, plus one if the step enters it again."""
        inner = self.enclosing(target)
        outer = self.enclosing(source) if source is not None else ()
        after: list[int] = []
        for depth, loop in enumerate(inner):
            if depth < len(outer) and outer[depth] is loop:
                after.append(counts[depth] + (1 if target in loop.entries else 0))
            else:
                after.append(1)
        return tuple(after)

    def joins(self, source: Location, target: Location) -> bool:
        """Return whether visits of `target` after a step from `source` may have several arrivals."""
        return self._arrivals[target, self._again(source, target)] > 1

    def _again(self, source: Location, target: Location) -> bool:
        """Return whether a step to `target` stays inside the innermost loop around it."""
        loop = self.forest.innermost(target)
        return loop is not None and source in loop.body

    @cached_property
    def _arrivals(self) -> Mapping[tuple[Location, bool], int]:
        """The number of arrivals at one visit, by location and whether they come from inside its loop.

        A step that leaves a loop counts as many: one for each number of iterations."""
        arrivals: dict[tuple[Location, bool], int] = {}
        for edge in self.procedure.edges:
            source, target = edge.source, edge.target
            left = len(self.enclosing(source)) > self._common(source, target)
            at = (target, self._again(source, target) and self._is_entry(target))
            arrivals[at] = arrivals.get(at, 0) + (2 if left else 1)
        for target in self.procedure.locations:
            if not self._is_entry(target):
                arrivals[target, True] = arrivals.get((target, False), 0)
        return arrivals

    def _is_entry(self, location: Location) -> bool:
        loop = self.forest.innermost(location)
        return loop is not None and location in loop.entries

    def _common(self, one: Location, other: Location) -> int:
        """Return how many loops enclose both."""
        pairs = zip(self.enclosing(one), self.enclosing(other), strict=False)
        return sum(1 for a, b in pairs if a is b)

    def order(self, location: Location, counts: tuple[int, ...]) -> tuple[int, ...]:
        """Return a key that sorts the visits of one activation topologically."""
        key: list[int] = []
        for loop, number in zip(self.enclosing(location), counts, strict=True):
            key += (self._places[loop], number)
        return (*key, self._places[location])

    @cached_property
    def _places(self) -> Mapping[Location | Loop, int]:
        """Numbers such that a step that does not enter a loop again leads to a higher one, and the locations
        of a loop have successive numbers after that of the loop."""
        places: dict[Location | Loop, int] = {}
        stack: list[Location | Loop] = list(reversed(self._sorted(None)))
        while stack:
            item = stack.pop()
            places[item] = len(places)
            if isinstance(item, Loop):
                stack.extend(reversed(self._sorted(item)))
        return places

    def _sorted(self, region: Loop | None) -> list[Location | Loop]:
        """Return the locations and inner loops directly in a region, in topological order."""
        depth = 0 if region is None else region.depth
        members = self.procedure.locations if region is None else sorted(region.body, key=lambda x: x.index)

        def item(at: Location) -> Location | Loop | None:
            """Return the item of this region that contains a location; None if it is outside."""
            chain = self.enclosing(at)
            if depth > 0 and (len(chain) < depth or chain[depth - 1] is not region):
                return None
            return chain[depth] if len(chain) > depth else at

        after: dict[Location | Loop, list[Location | Loop]] = {}
        missing: dict[Location | Loop, int] = {}
        for at in members:
            own = item(at)
            assert own is not None
            after.setdefault(own, [])
            missing.setdefault(own, 0)
        for at in members:
            own = item(at)
            assert own is not None
            for edge in self.procedure.successors[at]:
                other = item(edge.target)
                again = region is not None and edge.target in region.entries
                if other is not None and other is not own and not again:
                    after[own].append(other)
                    missing[other] += 1
        ready = [x for x in reversed(list(after)) if missing[x] == 0]
        in_order: list[Location | Loop] = []
        while ready:
            own = ready.pop()
            in_order.append(own)
            for other in after[own]:
                missing[other] -= 1
                if missing[other] == 0:
                    ready.append(other)
        assert len(in_order) == len(after), "a region without its loops' entries is acyclic"
        return in_order


def shapes(program: Program) -> Mapping[str, Shape]:
    """Return the shape of every procedure."""
    cyclic = {name for component in recursive(program) for name in component}
    written = procedure_writes(program)
    return {
        name: Shape(procedure, loop_forest(procedure), written[name], name in cyclic)
        for name, procedure in program.procedures.items()
    }

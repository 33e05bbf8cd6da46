"""Unroll a program for `bmc`: its executions up to a bound, as one growing formula.

A *visit* is a location in one activation of its procedure (a `Frame`), with the number of times each
enclosing loop has been entered so far. Visits form an acyclic graph. Where several steps may lead to a visit
it is a *join*: its literal implies one of the selectors of its arrivals, or, while some visit before it waits
for a higher bound, that it is still `open`. Assuming all joins closed asks about the executions unrolled so
far. A join that no further step can reach keeps the values on which its arrivals agree, so constants survive
loops whose end is known.

Visits that enter a loop again or a recursive procedure are *gates*: they wait until the bound admits
them and, if expanding them costs much, a solver finds them feasible. The bound limits their `measure`: the
number of entries of a loop head since control came to the loop from outside, or of simultaneous
activations of a recursive procedure. (For a loop with several entries, each of them counts as its head.)
Where the number of entries of a loop is known, `Limits` may let it go further than others at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.loops import Loop, LoopBound
from certus.core.program import Call, Edge, Location, Procedure, Program
from certus.core.solver import Answer, Solver
from certus.core.terms import INT, Expr, MachineSort, Value, machine
from certus.core.walk import Substitution
from certus.encoding.block_formula import Instance, merge
from certus.encoding.unrolling import Arrival, GrowingFormula, Node, Shape, arrivals_to, shapes


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One activation of a procedure. `order` is the key of the calling visit; `active` counts the
    activations of each recursive procedure on the stack, this one included."""

    shape: Shape
    caller: Visit | None
    call: Edge | None
    order: tuple[int, ...]
    active: Mapping[str, int]

    @property
    def procedure(self) -> Procedure:
        return self.shape.procedure


@dataclass(slots=True, eq=False)
class Visit(Node):
    """A node of the unrolled program. `counts`: entries of each enclosing loop, outermost first."""

    frame: Frame
    counts: tuple[int, ...]
    order: tuple[int, ...]  # a topological order of all visits
    gate: bool
    measure: int
    cheap: bool  # whether expanding it costs little, or an execution is known to come here
    merged: tuple[Expr, ...] = ()  # the variables with a symbol of their own here, at an open join
    open: Expr | None = None  # at an open join: implies an arrival that is not unrolled yet
    gathered: list[dict[Expr, Expr]] | None = None  # at a join not yet settled: the values of each arrival

    def __lt__(self, other: Visit) -> bool:
        return self.order < other.order


@dataclass(frozen=True, slots=True)
class Limits:
    """How far to unroll: to `bound` everywhere, and further for some loops, by the names of their heads."""

    bound: int
    further: Mapping[str, int] = field(default_factory=dict)

    def admit(self, visit: Visit) -> bool:
        """Return whether a visit is within the limits."""
        return visit.measure <= max(self.bound, self.further.get(visit.location.name, 0))


class UnrolledProgram(GrowingFormula):
    """A program of blocks, unrolled up to the limits of the last `expand`.

    `bounds` says how often some loops are entered. It saves queries; if it is wrong, the unrolling is only
    larger."""

    def __init__(self, program: Program, solver: Solver, bounds: Mapping[str, LoopBound]) -> None:
        super().__init__(program, solver)
        self.bounds = bounds
        self.symbols: list[Expr] = []  # of blocks, that are machine integers
        self.errors: list[Arrival] = []  # arrivals at error locations; edge.target is the location
        self.entered: dict[Loop, int] = {}  # most entries expanded, per loop
        self.activated: dict[str, int] = {}  # most simultaneous activations expanded
        self.waiting: list[Visit] = []  # gates not expanded
        self.initial: dict[Expr, Expr] = {}  # symbols for globals without an initial value
        self._shapes = shapes(program)
        self._visits: dict[tuple[Frame, Location, tuple[int, ...]], Visit] = {}
        self._open: dict[Expr, None] = {}  # the literals of joins that may still grow
        self._ready: list[Visit] = [self._start()]

    # ------------------------------------------------------------------------------- unrolling

    def expand(self, limits: Limits, budget: Budget) -> None:
        """Expand every visit that the limits admit and that is feasible."""
        for visit in self.waiting:
            if limits.admit(visit):
                heappush(self._ready, visit)
        self.waiting = [v for v in self.waiting if not limits.admit(v)]
        while True:
            while self._ready:
                budget.check()
                visit = heappop(self._ready)
                if visit.gathered is not None:
                    self._settle(visit)
                if self._enters(visit, limits, budget):
                    self._expand(visit)
                else:
                    self.waiting.append(visit)
            admitted = [v for v in self.waiting if limits.admit(v)]
            if not admitted or not self.feasible(
                [self.some([v.literal for v in admitted])], budget, "unroll"
            ):
                return
            self.waiting = [v for v in self.waiting if not limits.admit(v)]
            for visit in admitted:
                heappush(self._ready, visit)

    def _enters(self, visit: Visit, limits: Limits, budget: Budget) -> bool:
        """Return whether a visit is to be expanded now."""
        if not visit.gate:
            return True
        if not limits.admit(visit):
            return False
        return visit.cheap or self.feasible([visit.literal], budget, "unroll")

    def feasible(self, literals: list[Expr], budget: Budget, purpose: str) -> bool:
        """Return whether an execution unrolled so far satisfies the literals; "unknown" counts as yes."""
        answer = self.solver.check([*literals, *self.closed()], budget=budget, purpose=purpose)
        return answer is not Answer.UNSAT

    def closed(self) -> list[Expr]:
        """Return the assumptions that no execution takes a step that is not unrolled."""
        return [build.not_(literal) for literal in self._open]

    def gates(self) -> Iterator[Visit]:
        """Return all gates, expanded or not."""
        return (visit for visit in self._visits.values() if visit.gate)

    def _start(self) -> Visit:
        shape = self._shapes[self.program.main]
        frame = Frame(shape, None, None, (), self._activation({}, shape))
        values: dict[Expr, Expr] = {}
        for x in self.program.globals:
            values[x] = self.program.initial.get(x) or build.var(f"{x.name}@0", x.sort)
            if x not in self.program.initial:
                self.initial[x] = values[x]
        return self._visit(
            shape.procedure.entry, frame, shape.counts(None, (), shape.procedure.entry), build.TRUE, values
        )

    def _visit(
        self,
        location: Location,
        frame: Frame,
        counts: tuple[int, ...],
        literal: Expr,
        values: dict[Expr, Expr],
    ) -> Visit:
        loops = frame.shape.enclosing(location)
        order = frame.order + frame.shape.order(location, counts)
        measure, gate, cheap = 0, False, False
        if loops and location in loops[-1].entries:
            bound = self.bounds.get(location.name)
            certain = bound is not None and bound.exact and counts[-1] <= bound.entries
            measure, gate = counts[-1], counts[-1] > 1
            cheap = certain or frame.shape.simple(loops[-1])
        if location is frame.procedure.entry and frame.active.get(frame.procedure.name, 0) > 1:
            measure, gate, cheap = max(measure, frame.active[frame.procedure.name]), True, False
        visit = Visit(location, literal, values, frame, counts, order, gate, measure, cheap)
        self._visits[frame, location, counts] = visit
        return visit

    def _expand(self, visit: Visit) -> None:
        frame, location = visit.frame, visit.location
        loops = frame.shape.enclosing(location)
        if loops and location in loops[-1].entries:
            self.entered[loops[-1]] = max(self.entered.get(loops[-1], 0), visit.counts[-1])
        procedure = frame.procedure
        if location is procedure.entry and procedure.name in frame.active:
            most = max(self.activated.get(procedure.name, 0), frame.active[procedure.name])
            self.activated[procedure.name] = most
        if location is procedure.exit:
            self._leave(visit)
        for edge in procedure.successors[location]:
            if isinstance(edge.op, Call):
                self._enter(visit, edge, edge.op)
            else:
                self._follow(visit, edge)

    def _follow(self, visit: Visit, edge: Edge) -> None:
        instance = self._instance(edge, visit.values)
        if instance is None:
            return
        self.symbols.extend(x for x in instance.renamed.values() if isinstance(x.sort, MachineSort))
        values = {**visit.values, **instance.values}
        self._arrive(visit, edge, instance, visit.frame, edge.target, values)

    def _enter(self, visit: Visit, edge: Edge, call: Call) -> None:
        shape = self._shapes[call.procedure]
        frame = Frame(shape, visit, edge, visit.order, self._activation(visit.frame.active, shape))
        arguments = Substitution(visit.values).apply_all(call.arguments)
        values = {x: visit.values[x] for x in self.program.globals}
        values.update(zip(shape.procedure.parameters, arguments, strict=True))
        self._arrive(visit, edge, None, frame, shape.procedure.entry, values)

    def _leave(self, visit: Visit) -> None:
        frame = visit.frame
        if frame.caller is None or frame.call is None:
            return
        call = frame.call.op
        assert isinstance(call, Call)
        values = dict(frame.caller.values)
        values.update((x, visit.values[x]) for x in self.program.globals)
        for target, result in zip(call.targets, frame.procedure.results, strict=False):
            values[target] = visit.values.get(result) or self._fresh(result)
        self._arrive(visit, frame.call, None, frame.caller.frame, frame.call.target, values, frame.caller)

    def _arrive(
        self,
        source: Visit,
        edge: Edge,
        instance: Instance | None,
        frame: Frame,
        target: Location,
        values: dict[Expr, Expr],
        before: Visit | None = None,
    ) -> None:
        """Record a step from `source` to `target`. For a return, `before` is the visit of its call."""
        literal = self._literal()
        arrival = Arrival(source, edge, instance, literal)
        passed = build.and_(source.literal, instance.guard if instance else build.TRUE)
        self.solver.add(build.eq(literal, passed))
        if target in self.program.error_locations:
            self.errors.append(arrival)
            return
        start = before or source
        inside = start.frame is frame
        counts = frame.shape.counts(start.location if inside else None, start.counts, target)
        visit = self._visits.get((frame, target, counts))
        joins = inside and frame.shape.joins(start.location, target)
        if visit is None:
            visit = self._visit(target, frame, counts, literal, values)
            visit.gathered = [] if joins else None
            heappush(self._ready, visit)
        visit.arrivals.append(arrival)
        if visit.gathered is not None:
            visit.gathered.append(values)
        elif joins:
            self._join(visit, arrival, values)

    def _settle(self, visit: Visit) -> None:
        """Join the arrivals gathered so far. All visits before this one are expanded or waiting."""
        gathered, visit.gathered = visit.gathered or [], None
        if any(other.order < visit.order for other in self.waiting):
            self._open_join(visit)
            for arrival, values in zip(visit.arrivals, gathered, strict=True):
                self._join(visit, arrival, values)
        elif len(gathered) > 1:
            self._closed_join(visit, gathered)

    def _closed_join(self, visit: Visit, gathered: list[dict[Expr, Expr]]) -> None:
        """Join all arrivals there will ever be: only variables on which they disagree get new symbols."""
        visit.literal = self._literal()
        selectors = [arrival.selector for arrival in visit.arrivals]
        self.solver.add(build.eq(visit.literal, build.disjunction(selectors)))
        visit.values = dict(visit.values)
        for x in self._written(visit):
            choices = [values.get(x, x) for values in gathered]
            if any(choice is not choices[0] for choice in choices):
                merged = list(zip(selectors, choices, strict=True))
                visit.values[x], equation = merge(self._fresh(x), merged)
                self.solver.add(equation)

    def _open_join(self, visit: Visit) -> None:
        """Give a visit new symbols for all variables that its procedure may write, and an open literal."""
        visit.literal = self._literal()
        visit.merged = tuple(x for x in self._written(visit) if x in visit.values)
        visit.values = {**visit.values, **{x: self._fresh(x) for x in visit.merged}}
        visit.open = self._literal()
        self._open[visit.open] = None
        self.solver.add(build.implies(visit.literal, visit.open))

    def _join(self, visit: Visit, arrival: Arrival, values: Mapping[Expr, Expr]) -> None:
        """Add an arrival to an open join."""
        assert visit.open is not None, "no step leads to a closed join later"
        for x in visit.merged:
            if x in values:
                self.solver.add(build.implies(arrival.selector, build.eq(visit.values[x], values[x])))
        later = self._literal()
        self.solver.add(build.or_(build.not_(visit.open), arrival.selector, later))
        del self._open[visit.open]
        self._open[later] = None
        visit.open = later

    def _written(self, visit: Visit) -> tuple[Expr, ...]:
        """Return the variables on which arrivals may disagree."""
        shape = visit.frame.shape
        return shape.at_exit if visit.location is shape.procedure.exit else shape.written

    def _activation(self, active: Mapping[str, int], shape: Shape) -> Mapping[str, int]:
        name = shape.procedure.name
        return {**active, name: active.get(name, 0) + 1} if shape.recursive else active

    # ---------------------------------------------------------------------------- executions

    def trace(self, value: Callable[[Expr], Value]) -> Trace:
        """Return the execution to an error in the model that `value` reads."""
        error = next(e for e in self.errors if value(e.selector))
        return self._trace(error.edge.target, (error, *arrivals_to(error.source, value)), self.initial, value)

    def lengths(self) -> Expr:
        """Define a symbol for the number of statements on the path to the error, and return it.

        Call it under `push`: the definitions slow down every later query."""
        total = self._fresh(self._length_variable)
        length: dict[Node, Expr] = {}
        for visit in sorted(self._visits.values()):
            if not visit.arrivals:
                length[visit] = build.constant(0, self._length_variable.sort)
            elif len(visit.arrivals) == 1:
                length[visit] = self._length(visit.arrivals[0], length)
            else:
                length[visit] = self._fresh(self._length_variable)
                for arrival in visit.arrivals:
                    self._same(arrival, length[visit], self._length(arrival, length))
        for error in self.errors:
            self._same(error, total, self._length(error, length))
        return total

    @cached_property
    def _length_variable(self) -> Expr:
        """A variable for lengths: a machine integer if the program has any: mixing theories is slow."""
        procedures = self.program.procedures.values()
        numbers = (x.sort for p in procedures for x in p.variables)
        mixed = any(isinstance(sort, MachineSort) for sort in numbers)
        return build.var("length", machine(32, signed=False) if mixed else INT)

    def _length(self, arrival: Arrival, length: Mapping[Node, Expr]) -> Expr:
        before = length[arrival.source]
        if arrival.instance is None:
            return build.add(before, build.constant(1, before.sort))
        own, definitions = arrival.instance.length(before.sort, lambda: self._fresh(self._length_variable))
        self.solver.add(*definitions)
        return build.add(before, own)

    def _same(self, arrival: Arrival, one: Expr, other: Expr) -> None:
        self.solver.add(build.implies(arrival.selector, build.eq(one, other)))

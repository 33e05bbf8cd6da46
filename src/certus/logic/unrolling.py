"""The unrolled program: its executions up to a bound, as one growing formula.

A *visit* is a location in one activation of its procedure (a `Frame`), with the number of times each
enclosing loop has been entered so far. Visits form an acyclic graph; each has a literal that
implies an execution comes there, and the values of the variables as terms. Where several steps may
lead to a visit it is a *join*: its literal implies one of the selectors of its arrivals, or, while
some visit before it waits for a higher bound, that it is still `open`; assuming all joins closed asks
about the executions unrolled so far. A join that nothing more can come to keeps the values on which
its arrivals agree, so constants survive loops whose end is known.

So the formula only ever grows: raising the bound adds definitions and never retracts any.

Visits that enter a loop again or a recursive procedure are *gates*: they wait until the bound admits
them and, if much hangs on them, a solver finds them feasible. `measure` is what the bound limits: the
number of entries of a loop head since control came to the loop from outside, or of simultaneous
activations of a recursive procedure. (For a loop with several entries, each of them counts as its head.)
Where it is known how often a loop is entered, `Limits` may let it go further than others at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import count

from certus.core import build
from certus.core.budget import Budget
from certus.core.evidence import Trace
from certus.core.loops import Loop, LoopBound
from certus.core.program import Call, Choice, Edge, Havoc, Location, Procedure, Program, Seq
from certus.core.sorts import BOOL, INT, ArraySort, MachineSort, machine
from certus.core.terms import Expr, Kind, Value
from certus.core.walk import Substitution, variables
from certus.logic.blocks import BlockFormula, Instance, block_formula, merge
from certus.logic.intervals import bounds, conjuncts
from certus.logic.narrowing import vector
from certus.logic.regions import Shape, shapes
from certus.logic.solver import Answer, Solver


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


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A way to a visit: from `source`, through a block (`instance`) or, without one, by call or return."""

    source: Visit
    edge: Edge
    instance: Instance | None
    selector: Expr


@dataclass(slots=True, eq=False)
class Visit:
    """A location of the unrolled program. `counts`: entries of each enclosing loop, outermost first."""

    location: Location
    frame: Frame
    counts: tuple[int, ...]
    order: tuple[int, ...]  # a topological order of all visits
    literal: Expr  # implies: some execution comes here
    values: dict[Expr, Expr]
    merged: tuple[Expr, ...]  # the variables with a symbol of their own here, at an open join
    open: Expr | None  # at an open join: implies an arrival that is not yet known
    gate: bool
    measure: int
    simple: bool  # whether expanding it costs little in vain, or is hardly in vain
    arrivals: list[Arrival] = field(default_factory=list)
    gathered: list[dict[Expr, Expr]] | None = None  # at a join not yet looked at: the values of each arrival

    def __lt__(self, other: Visit) -> bool:
        return self.order < other.order


@dataclass(frozen=True, slots=True)
class Limits:
    """How far to unroll: to `bound` everywhere, and further for some loops, by the names of their heads."""

    bound: int
    further: Mapping[str, int] = field(default_factory=dict)

    def admit(self, visit: Visit) -> bool:
        return visit.measure <= max(self.bound, self.further.get(visit.location.name, 0))


class UnrolledProgram:
    """Unrolls a program of blocks into `solver`, as far as `expand` is asked to. `bounds` tells how often
    some loops are entered; it saves questions, and if it is wrong the unrolling is only larger. `known`
    must be true of all executions that come to a location; if it `narrows`, values with a range there go on
    as vectors of no more bits than that takes."""

    def __init__(self, program: Program, solver: Solver, bounds: Mapping[str, LoopBound]) -> None:
        self.program = program
        self.solver = solver
        self.bounds = bounds
        self.known: Mapping[Location, Expr] = {}
        self.narrows = False
        self._within: Expr | None = None  # implies what is known of executions unrolled so far
        self.symbols: list[Expr] = []  # of blocks, that are machine integers
        self.errors: list[Arrival] = []  # arrivals at error locations; edge.target is the location
        self.entered: dict[Loop, int] = {}  # most entries expanded, per loop
        self.activated: dict[str, int] = {}  # most simultaneous activations expanded
        self.waiting: list[Visit] = []  # gates not expanded
        self.initial: dict[Expr, Expr] = {}  # symbols for globals without an initial value
        self._shapes = shapes(program)
        self._formulas: dict[Edge, BlockFormula | None] = {}
        self._visits: dict[tuple[Frame, Location, tuple[int, ...]], Visit] = {}
        self._open: dict[Expr, None] = {}  # the literals of joins that may still grow
        self._numbers = count()
        self._ready: list[Visit] = [self._start()]

    # ------------------------------------------------------------------------------- unrolling

    def expand(self, limits: Limits, budget: Budget) -> None:
        """Expand every visit that the limits admit and that is feasible."""
        self._within = None
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
        """Whether a visit is to be expanded now."""
        if not visit.gate:
            return True
        if not limits.admit(visit):
            return False
        return visit.simple or self.feasible([visit.literal], budget, "unroll")

    def feasible(self, literals: list[Expr], budget: Budget, purpose: str) -> bool:
        """Whether the executions unrolled so far satisfy the literals; "unknown" counts as yes."""
        answer = self.solver.check([*literals, *self.closed()], budget=budget, purpose=purpose)
        return answer is not Answer.UNSAT

    def closed(self) -> list[Expr]:
        """Assumptions: no execution takes a way that is not unrolled."""
        closed = [build.not_(literal) for literal in self._open]
        return closed if self._within is None else [*closed, self._within]

    def tell_within(self, known: Mapping[Location, Expr]) -> None:
        """Assume, until the next expansion, what is known at locations of executions unrolled so far; more
        may come to the same visits later."""
        self._within = self._literal()
        waiting = set(map(id, self.waiting))
        for visit in self._visits.values():
            if visit.location in known and id(visit) not in waiting:
                self._say(visit, known[visit.location], self._within)

    def some(self, literals: list[Expr]) -> Expr:
        """A literal that implies one of the given ones."""
        if len(literals) == 1:
            return literals[0]
        literal = self._literal()
        self.solver.add(build.disjunction((build.not_(literal), *literals)))
        return literal

    def gates(self) -> Iterator[Visit]:
        """All gates, expanded or not."""
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
        measure, gate, simple = 0, False, False
        if loops and location in loops[-1].entries:
            known = self.bounds.get(location.name)
            certain = known is not None and known.exact and counts[-1] <= known.entries
            measure, gate = counts[-1], counts[-1] > 1
            simple = certain or frame.shape.simple(loops[-1])
        if location is frame.procedure.entry and frame.active.get(frame.procedure.name, 0) > 1:
            measure, gate, simple = max(measure, frame.active[frame.procedure.name]), True, False
        visit = Visit(location, frame, counts, order, literal, values, (), None, gate, measure, simple)
        self._visits[frame, location, counts] = visit
        return visit

    def _expand(self, visit: Visit) -> None:
        frame, location = visit.frame, visit.location
        loops = frame.shape.enclosing(location)
        if loops and location in loops[-1].entries:
            self.entered[loops[-1]] = max(self.entered.get(loops[-1], 0), visit.counts[-1])
        if location in self.known:
            self._say(visit, self.known[location], build.TRUE)
            if self.narrows:
                self._narrow(visit, self.known[location])
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

    def _say(self, visit: Visit, formula: Expr, literal: Expr) -> None:
        """Tell the solver what a literal implies at a visit, as far as variables have values there."""
        substitution = Substitution(visit.values)
        for part in conjuncts(formula):
            if all(x in visit.values for x in variables(part)):
                told = build.implies(build.and_(visit.literal, literal), substitution.apply(part))
                if told is not build.TRUE:
                    self.solver.add(told)

    def _narrow(self, visit: Visit, formula: Expr) -> None:
        """Let values go on from a visit in the bits that their ranges take."""
        narrower: dict[Expr, Expr] = {}
        for x, found in bounds(conjuncts(formula)).items():
            term = visit.values.get(x)
            if term is not None and term.kind is not Kind.CONST and isinstance(x.sort, MachineSort):
                sort = vector(x.sort, found)
                if found.low is not None and found.low == found.high:
                    narrower[x] = build.constant(found.low, x.sort)
                elif sort is not None:
                    narrower[x] = build.wrap(build.var(f"{x.name}@{next(self._numbers)}", sort), x.sort)
                    self.solver.add(build.implies(visit.literal, build.eq(narrower[x], term)))
        visit.values = {**visit.values, **narrower}

    def _follow(self, visit: Visit, edge: Edge) -> None:
        formula = self._formula(edge, visit.frame.procedure)
        if formula is None:
            return
        instance = formula.instance(next(self._numbers), visit.values)
        if instance.guard is build.FALSE:
            return
        self.solver.add(*instance.definitions)
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
        """Record a step from `source` to `target`; `before` is where it started if in another frame."""
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
        """Join the arrivals gathered so far. All visits before this one are expanded, or wait."""
        gathered, visit.gathered = visit.gathered or [], None
        if any(other.order < visit.order for other in self.waiting):
            self._open_join(visit)
            for arrival, values in zip(visit.arrivals, gathered, strict=True):
                self._join(visit, arrival, values)
        elif len(gathered) > 1:
            self._closed_join(visit, gathered)

    def _closed_join(self, visit: Visit, gathered: list[dict[Expr, Expr]]) -> None:
        """Nothing more comes here: only what the arrivals disagree on gets symbols of its own."""
        visit.literal = self._literal()
        selectors = [arrival.selector for arrival in visit.arrivals]
        self.solver.add(build.eq(visit.literal, build.disjunction(selectors)))
        visit.values = dict(visit.values)
        for x in self._written(visit):
            choices = [values.get(x, x) for values in gathered]
            if any(choice is not choices[0] for choice in choices):
                ways = list(zip(selectors, choices, strict=True))
                visit.values[x], equation = merge(self._fresh(x), ways)
                self.solver.add(equation)

    def _open_join(self, visit: Visit) -> None:
        """Give a visit symbols of its own for all its procedure may write, and an open literal."""
        visit.literal = self._literal()
        visit.merged = tuple(x for x in self._written(visit) if x in visit.values)
        visit.values = {**visit.values, **{x: self._fresh(x) for x in visit.merged}}
        visit.open = self._literal()
        self._open[visit.open] = None
        self.solver.add(build.implies(visit.literal, visit.open))

    def _join(self, visit: Visit, arrival: Arrival, values: Mapping[Expr, Expr]) -> None:
        """Add an arrival to an open join."""
        assert visit.open is not None, "nothing comes to a closed join"
        for x in visit.merged:
            if x in values:
                self.solver.add(build.implies(arrival.selector, build.eq(visit.values[x], values[x])))
        later = self._literal()
        self.solver.add(build.or_(build.not_(visit.open), arrival.selector, later))
        del self._open[visit.open]
        self._open[later] = None
        visit.open = later

    def _written(self, visit: Visit) -> tuple[Expr, ...]:
        """The variables on which arrivals may disagree."""
        shape = visit.frame.shape
        return shape.at_exit if visit.location is shape.procedure.exit else shape.written

    def _formula(self, edge: Edge, procedure: Procedure) -> BlockFormula | None:
        if edge not in self._formulas:
            live = () if edge.target in self.program.error_locations else None
            block = edge.op if isinstance(edge.op, Seq | Choice) else edge
            self._formulas[edge] = block_formula(block, procedure, live=live)
        return self._formulas[edge]

    def _activation(self, active: Mapping[str, int], shape: Shape) -> Mapping[str, int]:
        name = shape.procedure.name
        return {**active, name: active.get(name, 0) + 1} if shape.recursive else active

    def _literal(self) -> Expr:
        return build.var(f"@{next(self._numbers)}", BOOL)

    def _fresh(self, variable: Expr) -> Expr:
        return build.var(f"{variable.name}@{next(self._numbers)}", variable.sort)

    # ---------------------------------------------------------------------------- executions

    def trace(self, value: Callable[[Expr], Value]) -> Trace:
        """The execution to an error in the model that `value` reads."""
        error = next(e for e in self.errors if value(e.selector))
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for arrival in self._arrivals(error, value):
            if arrival.instance is not None:
                for passage in arrival.instance.path(value):
                    if isinstance(passage.edge.op, Havoc):
                        inputs.setdefault(passage.edge.key, []).append(passage.inputs)
        scalars = ((x, s) for x, s in self.initial.items() if not isinstance(x.sort, ArraySort))
        initial = {x: value(symbol) for x, symbol in scalars}
        return Trace(error.edge.target.name, initial, {e: tuple(v) for e, v in inputs.items()})

    def _arrivals(self, last: Arrival, value: Callable[[Expr], Value]) -> list[Arrival]:
        found = [last]
        while found[-1].source.arrivals:
            ways = found[-1].source.arrivals
            found.append(next(a for a in ways if len(ways) == 1 or value(a.selector)))
        found.reverse()
        return found

    def lengths(self) -> Expr:
        """A symbol for the number of statements on the way to the error, defined in the solver.

        To be called under `push`: the definitions burden every later query."""
        total = self._fresh(self._length_variable)
        length: dict[Visit, Expr] = {}
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
        """Lengths are machine integers where the program's numbers are: mixing theories is slow."""
        procedures = self.program.procedures.values()
        numbers = (x.sort for p in procedures for x in p.variables)
        mixed = any(isinstance(sort, MachineSort) for sort in numbers)
        return build.var("length", machine(32, signed=False) if mixed else INT)

    def _length(self, arrival: Arrival, length: Mapping[Visit, Expr]) -> Expr:
        before = length[arrival.source]
        if arrival.instance is None:
            return build.add(before, build.constant(1, before.sort))
        own, definitions = arrival.instance.length(before.sort, lambda: self._fresh(self._length_variable))
        self.solver.add(*definitions)
        return build.add(before, own)

    def _same(self, arrival: Arrival, one: Expr, other: Expr) -> None:
        self.solver.add(build.implies(arrival.selector, build.eq(one, other)))

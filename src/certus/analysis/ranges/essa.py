"""Build the constraint system of a program in e-SSA form.

Every write has a new quantity, and every condition new ones for the variables it mentions; where control flow
merges, variables with different quantities are joined. A variable that a loop does not assign needs no join
at the loop head, since conditions only restrict it. Parameters are joined over all calls of a procedure, and
so are the globals it reads (calls may be recursive); results and the globals it writes come from its exit.

Two variables with the same quantity have the same value. So a value that only has the same bounds (an element
of an array, the result of a call) is a new quantity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certus.analysis.ranges.control import Effects, Flow, Stretch, flows, without_blocks
from certus.analysis.ranges.float_views import float_views
from certus.analysis.ranges.system import Gate, Join, System, View
from certus.analysis.ranges.terms import Translation
from certus.analysis.ranges.views import signed_views
from certus.core.effects import has_floats, written
from certus.core.loops import call_graph, callees_of, components
from certus.core.program import Assign, Assume, Call, Edge, Havoc, Location, Procedure, Program, Return
from certus.core.terms import Expr


@dataclass(frozen=True, slots=True)
class State:
    """The quantities at a location: `gate` is open if it is reached, `environment` has the live variables."""

    gate: int
    environment: Mapping[Expr, int]


@dataclass(frozen=True, slots=True)
class LoopStretch:
    """The quantities `start` .. `end` (exclusive) of a loop, and the number of its entries."""

    start: int
    end: int
    entries: int


@dataclass(slots=True, eq=False)
class EssaForm:
    """The constraint system of `program`, and the quantities of its variables."""

    program: Program
    system: System
    translation: Translation
    at: dict[Location, State] = field(default_factory=dict)
    loops: list[LoopStretch] = field(default_factory=list)
    defined: dict[Expr, dict[int, None]] = field(default_factory=dict)  # all that is assigned to a variable
    edges: dict[int, Edge] = field(default_factory=dict)  # of nonlinear quantities
    called: dict[int, None] = field(default_factory=dict)  # joins over calls, and values returned from them


@dataclass(slots=True, eq=False)
class _Interface:
    """The inputs and outputs of a procedure, as joins to which calls and returns add operands."""

    entered: int
    inputs: dict[Expr, int]
    left: int
    outputs: dict[Expr, int]


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a constraint system. It has the states at entries, exits, loop heads and errors, or
    `everywhere`. Without `elements`, elements of arrays are arbitrary, so that ranges need no quantifiers. If
    `separate`, no two variables have the same quantity at a loop head, so that ranges need no equalities. If
    `alone`, each procedure is entered with any values and returns any, so that ranges need no summaries.
    Variables that are not read again are left out, unless they are `lasting`. Without `floats`, floating
    point has no ranges."""

    everywhere: bool = False
    elements: bool = True
    separate: bool = False
    alone: bool = False
    lasting: bool = False
    floats: bool = True


def translate(program: Program, scope: Scope | None = None) -> EssaForm:
    """Return the constraint system of a program."""
    return _Building(without_blocks(program), scope or Scope()).run()


class _Building:
    """The construction of the system of a program."""

    def __init__(self, program: Program, scope: Scope) -> None:
        system = System()
        self.program, self.scope = program, scope
        self.system = system
        views: dict[Expr, View] = {**signed_views(program)}
        ranked = scope.floats and (has_floats(program) or bool(program.formats))
        if ranked:
            views.update(float_views(program))
        self.translation = Translation(system, views, elements=scope.elements, ranked=ranked)
        self.essa = EssaForm(program, system, self.translation)
        self.effects = Effects(program)
        self.flows = flows(program, self.effects, lasting=scope.lasting)
        self.interfaces: dict[str, _Interface] = {}
        self.main_called = program.main in callees_of(program)  # then the start is one more call of it

    def run(self) -> EssaForm:
        calls = call_graph(self.program)
        groups = components((self.program.main, *calls), calls.__getitem__)
        reached = _reached(self.program.main, calls)
        for group in reversed(groups):  # callers first
            for name in group:
                if name in reached:
                    _Walk(self, self.flows[name]).run()
        return self.essa

    def interface(self, name: str) -> _Interface:
        if name in self.interfaces:
            return self.interfaces[name]
        procedure, flow = self.program.procedures[name], self.flows[name]
        shared = frozenset((*self.program.globals, *procedure.parameters))
        inputs = [x for x in flow.at_entry if x in shared]
        outputs = (*procedure.results, *self.effects.writes[name])
        interface = _Interface(
            self._join(None),
            {x: self._join(x) for x in inputs},
            self._join(None),
            {x: self._join(x) for x in outputs},
        )
        self.interfaces[name] = interface
        return interface

    def _join(self, x: Expr | None) -> int:
        quantity = self.system.add(Join(cyclic=True))
        if x is None:
            self.translation.limits[quantity] = (0, 0)
        else:
            self.translation.typed(quantity, self.translation.quantity_sort(x))
        self.essa.called[quantity] = None
        return quantity

    def passed(self, join: int, x: Expr) -> int:
        """Return an input or output of a procedure: the join, or anything if procedures are alone."""
        return self.translation.arbitrary(self.translation.quantity_sort(x)) if self.scope.alone else join

    def joined(self, join: int, operand: int, gate: int) -> None:
        definition = self.system.definitions[join]
        assert isinstance(definition, Join)
        definition.add(operand, gate)

    def define(self, x: Expr, quantity: int) -> None:
        self.essa.defined.setdefault(x, {})[quantity] = None


def _reached(main: str, calls: Mapping[str, Sequence[str]]) -> set[str]:
    reached, pending = {main}, [main]
    while pending:
        for callee in calls[pending.pop()]:
            if callee not in reached:
                reached.add(callee)
                pending.append(callee)
    return reached


class _Walk:
    """The translation of one procedure, location by location in its order."""

    def __init__(self, building: _Building, flow: Flow) -> None:
        self.building, self.flow = building, flow
        self.system, self.translation = building.system, building.translation
        self.procedure: Procedure = flow.procedure
        self.arrivals: dict[Location, list[State]] = {}
        self.back: list[tuple[Location, State]] = []
        self.heads: dict[Location, dict[Expr, int]] = {}  # joins to which back edges add operands

    def run(self) -> None:
        building, kept = self.building, self.building.essa.at
        starts = {loop.start: loop for loop in self.flow.loops.values()}
        open_loops: list[tuple[Stretch, int]] = []
        self.arrivals[self.procedure.entry] = [self._start()]
        errors = building.program.error_locations
        ends = (self.procedure.entry, self.procedure.exit)
        for position, at in enumerate(self.flow.order):
            while open_loops and open_loops[-1][0].end <= position:
                self._close(*open_loops.pop())
            if position in starts:
                open_loops.append((starts[position], len(self.system)))
            state = self._state(at)
            edges = self.procedure.successors[at]
            keep = building.scope.everywhere or at in self.flow.loops or at in errors or at in ends
            if keep:
                live = self.flow.members(self.flow.live[at])
                kept[at] = State(state.gate, {x: state.environment[x] for x in live})
            for edge in edges:
                self._follow(edge, state, shared=keep or len(edges) > 1)
        while open_loops:
            self._close(*open_loops.pop())
        self._finish()

    def _close(self, loop: Stretch, start: int) -> None:
        self.building.essa.loops.append(LoopStretch(start, len(self.system), len(loop.entries)))

    def _start(self) -> State:
        program, procedure = self.building.program, self.procedure
        live = self.flow.live[procedure.entry]
        environment: dict[Expr, int] = {}
        is_main = procedure.name == program.main
        called = not is_main or self.building.main_called
        interface = self.building.interface(procedure.name) if called else None
        if interface is not None and is_main:
            self.building.joined(interface.entered, self.system.open, self.system.open)
            for x, join in interface.inputs.items():
                self.building.joined(join, self._initial(x), self.system.open)
        for x in self.flow.members(live):
            if interface is not None and x in interface.inputs:
                environment[x] = self.building.passed(interface.inputs[x], x)
            else:
                environment[x] = self._initial(x) if is_main else self._arbitrary(x)
            self.building.define(x, environment[x])
        return State(self.system.open if interface is None else interface.entered, environment)

    def _initial(self, x: Expr) -> int:
        """Return the value of a variable at the start of the program."""
        value = self.building.program.initial.get(x)
        return self._arbitrary(x) if value is None else self.translation.assigned(x, value, {})

    def _arbitrary(self, x: Expr) -> int:
        return self.translation.arbitrary(self.translation.quantity_sort(x))

    # ------------------------------------------------------------------------------------- joining

    def _state(self, at: Location) -> State:
        arrivals = self.arrivals.pop(at)
        loop = self.flow.loops.get(at)
        live = self.flow.live[at]
        if loop is None and len(arrivals) == 1:
            return arrivals[0]
        gates = [each.gate for each in arrivals]
        gate = gates[0] if len(gates) == 1 else self._gate(gates)
        waiting = 0 if loop is None else live if len(loop.entries) > 1 else loop.assigned & live
        if loop is not None and len(loop.entries) > 1:
            gate = self._gate([gate], cyclic=True)
        environment: dict[Expr, int] = {}
        heads: dict[Expr, int] = {}
        cyclic = frozenset(self.flow.members(waiting))
        for x in self.flow.members(live):
            operands = [each.environment[x] for each in arrivals]
            if x in cyclic:
                environment[x] = heads[x] = self._join(x, operands, gates, cyclic=True)
            elif all(each == operands[0] for each in operands):
                environment[x] = operands[0]
            else:
                environment[x] = self._join(x, operands, gates, cyclic=False)
        if loop is not None:
            self.heads[at] = heads
            if self.building.scope.separate:
                self._separate(environment)
        return State(gate, environment)

    def _separate(self, environment: dict[Expr, int]) -> None:
        """Give each variable its own quantity: formulas at loop heads do not state that two are equal."""
        used: set[int] = set()
        for x, quantity in environment.items():
            if quantity in used and not self.system.is_constant(quantity):
                environment[x] = self.translation.copied(quantity, self.translation.quantity_sort(x))
            used.add(quantity)

    def _gate(self, gates: list[int], *, cyclic: bool = False) -> int:
        """Return a gate that is open if one of the gates is."""
        return self.system.add(Join(gates, [self.system.open] * len(gates), cyclic))

    def _join(self, x: Expr, operands: Sequence[int], gates: Sequence[int], *, cyclic: bool) -> int:
        quantity = self.system.add(Join(list(operands), list(gates), cyclic))
        return self.translation.typed(quantity, self.translation.quantity_sort(x))

    def _arrive(self, edge: Edge, gate: int, environment: Mapping[Expr, int]) -> None:
        state = State(gate, environment)
        loop: Stretch | None = self.flow.loops.get(edge.target)
        if loop is not None and edge.source in loop.body:
            self.back.append((edge.target, state))
        else:
            self.arrivals.setdefault(edge.target, []).append(state)

    def _finish(self) -> None:
        """Add back edges to the joins at loop heads, and the exit to the procedure's outputs."""
        building = self.building
        for head, state in self.back:
            for x, join in self.heads[head].items():
                building.joined(join, state.environment[x], state.gate)
            if len(self.flow.loops[head].entries) > 1:
                building.joined(building.essa.at[head].gate, state.gate, self.system.open)
        exit_ = building.essa.at.get(self.procedure.exit)
        if exit_ is None or (self.procedure.name == building.program.main and not building.main_called):
            return
        interface = building.interface(self.procedure.name)
        building.joined(interface.left, exit_.gate, self.system.open)
        for x, join in interface.outputs.items():
            building.joined(join, exit_.environment[x], exit_.gate)

    # ---------------------------------------------------------------------------------- statements

    def _follow(self, edge: Edge, state: State, *, shared: bool) -> None:
        op, gate = edge.op, state.gate
        before = len(self.system)
        changed: dict[Expr, int]
        if isinstance(op, Assume):
            changed, needs = self.translation.assume(op.condition, state.environment)
            if needs:
                gate = self.system.add(Gate(gate, tuple(dict.fromkeys(needs))))
        elif isinstance(op, Assign | Return):
            targets = written(op, self.procedure)
            pairs = zip(targets, op.values, strict=True)
            changed = {x: self.translation.assigned(x, value, state.environment) for x, value in pairs}
        elif isinstance(op, Havoc):
            changed = {x: self.translation.arbitrary(self.translation.quantity_sort(x)) for x in op.targets}
        else:
            assert isinstance(op, Call), f"{op} in a program for range analysis"
            gate, changed = self._call(op, state)
        for quantity in range(before, len(self.system)):
            if quantity in self.translation.opaque:
                self.building.essa.edges[quantity] = edge
        if not isinstance(op, Assume):
            for x in changed if not isinstance(op, Call) else op.targets:
                self.building.define(x, changed[x])
        environment = state.environment
        assert isinstance(environment, dict)
        if shared:  # another edge starts from it too, and later statements may change it in place
            environment = {**environment, **changed}
        else:
            environment.update(changed)
        self._arrive(edge, gate, environment)

    def _call(self, op: Call, state: State) -> tuple[int, dict[Expr, int]]:
        building = self.building
        callee = building.program.procedures[op.procedure]
        interface = building.interface(op.procedure)
        building.joined(interface.entered, state.gate, self.system.open)
        arguments = dict(zip(callee.parameters, op.arguments, strict=True))
        for x, join in interface.inputs.items():
            term = arguments.get(x)
            argument = (
                state.environment[x]
                if term is None
                else self.translation.assigned(x, term, state.environment)
            )
            building.joined(join, argument, state.gate)
        changed = {x: self._returned(x, interface) for x in building.effects.writes[op.procedure]}
        for x, result in zip(op.targets, callee.results, strict=True):
            changed[x] = self.translation.assigned(x, result, {result: self._returned(result, interface)})
        return self.system.add(Gate(state.gate, (interface.left,))), changed

    def _returned(self, x: Expr, interface: _Interface) -> int:
        join = self.building.passed(interface.outputs[x], x)
        quantity = self.translation.copied(join, self.translation.quantity_sort(x))
        self.building.essa.called[quantity] = None
        return quantity

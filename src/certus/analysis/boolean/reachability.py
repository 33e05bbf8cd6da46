"""Compute the reachable states of a Boolean program with procedure summaries, and executions to an error.

The sets of states grow by *items*: states at a location that no earlier item has, with the edge that led to
them and the items it started from. The states at the exit of a procedure relate its entry to its exit: they
are its summary, which every call uses (Wolff 2015, section 4). Items are expanded in the order in which they
were added, so the first item at an error has the fewest steps.

An execution is found backwards from the error: for one state of an item, a state of the item before it that
leads there. Where a call was passed over by a summary, the states of the callee are followed first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from certus.analysis.boolean.states import States, inner, later
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.program import Block, Call, Choice, Edge, Havoc, Location, Procedure, Seq
from certus.core.terms import Expr, Value
from certus.solvers.bdd import Region

State = Mapping[Expr, bool]


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """States at a location that are in no earlier item. `kind` says how they were reached: at the start, by a
    block, by entering a procedure, or by a call and the summary of its callee (premises: before, exit)."""

    location: Location
    region: Region
    kind: Literal["start", "block", "enter", "call"]
    edge: Edge | None = None
    premises: tuple[Item, ...] = ()


@dataclass(slots=True, eq=False)
class Reachability:
    """The reachable states of a Boolean program: `regions`, by location."""

    states: States
    budget: Budget
    regions: dict[Location, Region] = field(default_factory=dict)
    items: dict[Location, list[Item]] = field(default_factory=dict)  # those that have been expanded
    _waiting: deque[Item] = field(default_factory=deque)
    _calls: dict[str, list[Edge]] = field(default_factory=dict)  # by callee

    def error(self) -> Item | None:
        """Compute the fixpoint; stop at the first item at an error and return it."""
        program = self.states.program
        for procedure in program.procedures.values():
            for edge in procedure.edges:
                if isinstance(edge.op, Call):
                    self._calls.setdefault(edge.op.procedure, []).append(edge)
        error = self._add(Item(program.entry, self.states.initial(), "start"))
        while error is None and self._waiting:
            self.budget.check()
            item = self._waiting.popleft()
            self.items.setdefault(item.location, []).append(item)
            for successor in self._successors(item):
                error = error or self._add(successor)
        return error

    def _add(self, item: Item) -> Item | None:
        """Add the states of an item that are new; return it if it is at an error."""
        regions, at = self.states.regions, item.location
        reached = self.regions.get(at, regions.nothing)
        new = regions.minus(item.region, reached)
        if new is regions.nothing:
            return None
        self.regions[at] = regions.either(reached, new)
        added = Item(at, new, item.kind, item.edge, item.premises)
        if at in self.states.program.error_locations:
            return added
        self._waiting.append(added)
        return None

    def _successors(self, item: Item) -> Iterator[Item]:
        """Yield the consequences of an item: of its steps, of calls with the summaries so far, and as a
        summary at the calls reached so far."""
        procedure = self._procedure(item)
        for edge in procedure.successors[item.location]:
            if isinstance(edge.op, Call):
                callee = self.states.program.procedures[edge.op.procedure]
                entered = self.states.callee_states(item.region, edge.op, procedure)
                yield Item(callee.entry, entered, "enter", edge, (item,))
                for summary in self.items.get(callee.exit, ()):
                    yield self._passed(edge, edge.op, item, summary)
            else:
                after = self.states.after(edge, item.region, procedure)
                yield Item(edge.target, after, "block", edge, (item,))
        if item.location is procedure.exit:
            for edge in self._calls.get(procedure.name, ()):
                assert isinstance(edge.op, Call)
                for caller in self.items.get(edge.source, ()):
                    if caller is not item:
                        yield self._passed(edge, edge.op, caller, item)

    def _passed(self, edge: Edge, call: Call, before: Item, summary: Item) -> Item:
        after = self.states.after_call(call, before.region, summary.region, self._procedure(before))
        return Item(edge.target, after, "call", edge, (before, summary))

    def _procedure(self, item: Item) -> Procedure:
        return self.states.program.procedures[item.location.procedure]

    # -------------------------------------------------------------------------------- executions

    def trace(self, error: Item) -> Trace:
        """Return an execution to the states of an item at an error."""
        backwards: list[tuple[int, tuple[Value, ...]]] = []
        pending = [(error, self._some(error.region, self._procedure(error)), False)]
        start: State = {}
        while pending:
            item, state, inside = pending.pop()  # `inside`: the execution of a callee up to its exit
            while item.kind != "start" and not (item.kind == "enter" and inside):
                self.budget.check()
                before, edge = item.premises[0], item.edge
                assert edge is not None
                if item.kind == "block":
                    start_state, inputs = self._through(edge, before, state)
                    backwards += reversed(inputs)
                    item, state = before, start_state
                elif item.kind == "enter":
                    item, state = before, self._entering(edge, before, state)
                else:
                    outside, within = self._passing(edge, item.premises, state)
                    pending.append((before, outside, inside))
                    item, state, inside = item.premises[1], within, True
            if item.kind == "start":
                start = state
        inputs_of: dict[int, list[tuple[Value, ...]]] = {}
        for key, values in reversed(backwards):
            inputs_of.setdefault(key, []).append(values)
        program = self.states.program
        open_ = (x for x in program.globals if x not in program.initial)
        main = program.procedures[program.main]
        initial = {x: start[x] for x in (*open_, *main.parameters) if x in start}
        return Trace(error.location.name, initial, {key: tuple(values) for key, values in inputs_of.items()})

    def _some(self, region: Region, procedure: Procedure) -> State:
        return self.states.complete(self.states.regions.valuation(region), procedure)

    def _exactly(self, state: State) -> Region:
        return self.states.regions.minterm(state)

    def _entering(self, edge: Edge, before: Item, state: State) -> State:
        """Return a state of the caller whose call gives this state at the entry."""
        assert isinstance(edge.op, Call)
        procedure, regions = self._procedure(before), self.states.regions
        joint = regions.both(before.region, self.states.entered(edge.op, procedure))
        at_entry = self._exactly({inner(x): value for x, value in state.items()})
        return self._some(regions.both(joint, at_entry), procedure)

    def _passing(self, edge: Edge, premises: tuple[Item, ...], state: State) -> tuple[State, State]:
        """Return states before the call and at the exit of the callee that give this state after it."""
        assert isinstance(edge.op, Call)
        before, exit_ = premises
        caller, callee = self._procedure(before), self._procedure(exit_)
        written = dict.fromkeys((*self.states.program.globals, *edge.op.targets))
        joint = self.states.returned(edge.op, before.region, exit_.region, caller)
        wanted = self._exactly({later(x) if x in written else x: value for x, value in state.items()})
        values = self.states.regions.valuation(self.states.regions.both(joint, wanted))
        names = self.states.complete({}, callee)
        return (
            self.states.complete(values, caller),
            self.states.complete({x: values.get(inner(x), False) for x in names}, callee),
        )

    def _through(
        self, edge: Edge, before: Item, state: State
    ) -> tuple[State, list[tuple[int, tuple[Value, ...]]]]:
        """Return a state of `before` from which a block leads to `state`, and the inputs on the way."""
        states, regions, procedure = self.states, self.states.regions, self._procedure(before)

        def choose(block: Block, starts: Region, goal: State) -> State:
            leading = states.before(block, self._exactly(goal), procedure)
            return self._some(regions.both(starts, leading), procedure)

        first = choose(edge, before.region, state)
        inputs: list[tuple[int, tuple[Value, ...]]] = []
        todo: list[tuple[Block, State, State]] = [(edge, first, state)]
        while todo:
            block, here, goal = todo.pop()
            op = block.op if isinstance(block, Edge) else block
            if isinstance(op, Seq):
                middle = choose(op.second, states.after(op.first, self._exactly(here), procedure), goal)
                todo += ((op.second, middle, goal), (op.first, here, middle))
            elif isinstance(op, Choice):
                taken = next(
                    each
                    for each in op.alternatives
                    if regions.both(self._exactly(here), states.before(each, self._exactly(goal), procedure))
                    is not regions.nothing
                )
                todo.append((taken, here, goal))
            elif isinstance(op, Havoc):
                assert isinstance(block, Edge)
                inputs.append((block.key, tuple(goal[x] for x in op.targets)))
        return first, inputs

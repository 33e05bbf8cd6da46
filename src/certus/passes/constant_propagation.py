"""Compute which variables are constant at which locations; dead branches do not count.

A state maps variables to constants at a location. Propagation starts at the entry of main with the initial
values of globals. An edge that is disabled in a state propagates nothing (Wegman and Zadeck, "Constant
propagation with conditional branches", 1991). A callee starts with the constants that all its reached calls
agree on; after a call, its targets and the globals that the callee may write are unknown. Globals that no
statement writes are kept separately (`fixed`): their values hold everywhere.

At a loop without an invariant in the proof, `validate` forgets all variables that the loop may write. So a
variable written in a loop is never constant at its head, even if every write has the same value; in an
irreducible loop it is constant nowhere. Therefore the constants at any set of points are inductive together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

from certus.core import build
from certus.core.effects import global_writes, terms, written
from certus.core.loops import Loop, call_graph, components, loop_forest
from certus.core.program import Assign, Assume, Call, Edge, Location, Op, Procedure, Program, Return
from certus.core.sorts import BOOL
from certus.core.terms import Expr, Kind
from certus.core.walk import substitute_all, variables

State = Mapping[Expr, Expr]  # from a variable to its constant; immutable
PATIENCE = 20_000_000  # entries of states that are processed before the analysis gives up


class ConstantStates:
    """The result of the propagation. States are stored at *leaders* only: the targets of calls, branches and
    several edges; states between them are recomputed."""

    def __init__(self, program: Program, fixed: State, writes: Mapping[str, Mapping[Expr, None]]) -> None:
        self.program = program
        self.fixed = fixed
        self.writes = writes
        self.leaders: dict[Location, State] = {}

    def at(self, location: Location) -> State | None:
        """Return the state at a location, without `fixed`; None if the location is unreachable."""
        procedure = self.program.procedures[location.procedure]
        path: list[Edge] = []
        while location not in self.leaders:
            incoming = procedure.predecessors[location]
            if not self.passes(procedure, location) or len(path) > len(procedure.edges):
                return None
            path.append(incoming[0])
            location = incoming[0].source
        state: State | None = self.leaders[location]
        for edge in reversed(path):
            state = None if state is None else self.after(edge, state)
        return state

    @staticmethod
    def passes(procedure: Procedure, location: Location) -> bool:
        """Tell whether a location has a single predecessor that is not a branch."""
        incoming = procedure.predecessors[location]
        if len(incoming) != 1 or location is procedure.entry:
            return False
        return len(procedure.successors[incoming[0].source]) == 1

    def after(self, edge: Edge, state: State) -> State | None:
        """Return the state after an edge is executed in `state`; None if it is disabled there."""
        op = edge.op
        procedure = self.program.procedures[edge.source.procedure]
        values = self.folded(op, state)
        if isinstance(op, Assume):
            return None if values[0] is build.FALSE else _refined(state, values[0])
        new = dict(state)
        if isinstance(op, Assign | Return):
            for x, value in zip(written(op, procedure), values, strict=True):
                if value.kind is Kind.CONST:
                    new[x] = value
                else:
                    new.pop(x, None)
            return new
        for x in written(op, procedure):
            new.pop(x, None)
        if isinstance(op, Call):
            for x in self.writes[op.procedure]:
                new.pop(x, None)
        return new

    def folded(self, op: Op, state: State) -> tuple[Expr, ...]:
        """Return the terms of an operation with constants substituted."""
        own = terms(op)
        return substitute_all(own, {x: c for x in variables(*own) if (c := self.constant(x, state))})

    def constant(self, variable: Expr, state: State) -> Expr | None:
        return state.get(variable) or self.fixed.get(variable)

    def bound(self, call: Call, state: State) -> State:
        """Return the state at the entry of a callee."""
        callee = self.program.procedures[call.procedure]
        entry = {x: c for x in self.program.globals if (c := state.get(x))}
        for x, value in zip(callee.parameters, self.folded(call, state), strict=True):
            if value.kind is Kind.CONST:
                entry[x] = value
        return entry


def _refined(state: State, condition: Expr) -> State:
    """Return `state` with the equalities of a condition."""
    parts = condition.args if condition.kind is Kind.AND else (condition,)
    equalities: dict[Expr, Expr] = {}
    for part in parts:
        if part.kind is Kind.EQ:
            for x, c in (part.args, part.args[::-1]):
                if x.kind is Kind.VAR and c.kind is Kind.CONST:
                    equalities[x] = c
        elif part.kind is Kind.VAR and part.sort is BOOL:
            equalities[part] = build.TRUE
        elif part.kind is Kind.NOT and part.args[0].kind is Kind.VAR:
            equalities[part.args[0]] = build.FALSE
    return {**state, **equalities} if equalities else state


# ------------------------------------------------------------------------------------ propagation


def propagate(program: Program) -> ConstantStates | None:
    """Compute the constants of a program; None if it is too large."""
    writes = global_writes(program)
    overwritten = {x for globals_ in writes.values() for x in globals_}
    fixed = {x: c for x, c in program.initial.items() if x not in overwritten and c.kind is Kind.CONST}
    states = ConstantStates(program, fixed, writes)
    start = {x: c for x, c in program.initial.items() if x not in fixed and c.kind is Kind.CONST}
    return states if _Propagation(states).run(start) else None


class _Propagation:
    """A work list of leaders in control-flow order: callers before callees, sources before targets."""

    def __init__(self, states: ConstantStates) -> None:
        self.states = states
        self.program = states.program
        self.forgotten: dict[Location, dict[Expr, None]] = {}  # variables that must not be constant there
        self.order: dict[Location, int] = {}
        self.queue: list[tuple[int, Location]] = []
        self.waiting: set[Location] = set()
        self.spent = 0
        calls = call_graph(self.program)
        for group in reversed(components(tuple(calls), calls.__getitem__)):
            for name in group:
                procedure = self.program.procedures[name]
                self._order(procedure)
                self._forget(procedure)

    def _order(self, procedure: Procedure) -> None:
        def targets(at: Location) -> Iterator[Location]:
            return (e.target for e in procedure.successors[at])

        visited: set[Location] = {procedure.entry}
        stack = [(procedure.entry, targets(procedure.entry))]
        finished: list[Location] = []
        while stack:
            at, rest = stack[-1]
            for target in rest:
                if target not in visited:
                    visited.add(target)
                    stack.append((target, targets(target)))
                    break
            else:
                finished.append(at)
                stack.pop()
        for at in reversed(finished):
            self.order[at] = len(self.order)

    def _forget(self, procedure: Procedure) -> None:
        forest = loop_forest(procedure)
        inside: dict[Loop, dict[Expr, None]] = {loop: {} for loop in forest.loops}
        for edge in procedure.edges:
            loop = forest.innermost(edge.source)
            if loop is not None:
                inside[loop].update((x, None) for x in written(edge.op, procedure))
                if isinstance(edge.op, Call):
                    inside[loop].update(self.states.writes[edge.op.procedure])
        for loop in reversed(forest.loops):
            if loop.parent is not None:
                inside[loop.parent].update(inside[loop])
        for loop in forest.loops:
            reducible = len(loop.entries) == 1
            for at in loop.entries if reducible else sorted(loop.body, key=lambda at: at.index):
                self.forgotten.setdefault(at, {}).update(inside[loop])

    def run(self, start: State) -> bool:
        """Propagate from the entry; return False if that exceeds `PATIENCE`."""
        self._arrive(self.program.entry, start)
        while self.queue:
            _, leader = heappop(self.queue)
            self.waiting.discard(leader)
            self._leave(leader, self.states.leaders[leader])
            if self.spent > PATIENCE:
                return False
        return True

    def _leave(self, at: Location, state: State) -> None:
        """Propagate the state from `at` to the next leaders."""
        procedure = self.program.procedures[at.procedure]
        while True:
            edges = procedure.successors[at]
            for edge in edges:
                self.spent += len(state)
                if isinstance(edge.op, Call):
                    callee = self.program.procedures[edge.op.procedure]
                    again = bool(callee.predecessors[callee.entry])
                    self._arrive(callee.entry, {} if again else self.states.bound(edge.op, state))
                after = self.states.after(edge, state)
                if after is None:
                    continue
                if self._is_leader(procedure, edge.target):
                    self._arrive(edge.target, after)
                else:
                    at, state = edge.target, after
                    break
            else:
                return

    def _is_leader(self, procedure: Procedure, at: Location) -> bool:
        return at in self.forgotten or not self.states.passes(procedure, at)

    def _arrive(self, at: Location, state: State) -> None:
        forgotten = self.forgotten.get(at)
        if forgotten:
            state = {x: c for x, c in state.items() if x not in forgotten}
        before = self.states.leaders.get(at)
        if before is not None:
            self.spent += len(before)
            joined = {x: c for x, c in before.items() if state.get(x) is c}
            if len(joined) == len(before):
                return
            state = joined
        self.states.leaders[at] = state
        if at not in self.waiting:
            self.waiting.add(at)
            heappush(self.queue, (self.order[at], at))

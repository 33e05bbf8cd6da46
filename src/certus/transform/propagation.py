"""Which variables have which constant where: conditional propagation, in which dead branches do not count.

A state says which variables have which constant at a location. Control starts at the entry of main with
the initial values of globals; a step that is disabled under a state passes nothing on (Wegman and
Zadeck, "Constant propagation with conditional branches", 1991). A callee starts with what all its
reached calls agree on; after a call its targets and the globals the callee may write are unknown.
Globals that nothing writes stand apart (`fixed`): they hold everywhere.

`validate` forgets, at a loop a proof does not mention, all the loop may write. So a variable written in a
loop is never a constant at its head, even if it is always written the same (in an irreducible loop: nowhere).
Then the facts at any points, taken together, are inductive by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

from certus.core import build
from certus.core.effects import terms, written
from certus.core.loops import Loop, call_graph, components, loop_forest
from certus.core.program import Assign, Assume, Call, Edge, Location, Op, Procedure, Program, Return
from certus.core.sorts import BOOL
from certus.core.terms import Expr, Kind
from certus.core.walk import substitute_all, variables
from certus.transform.effects import global_writes

State = Mapping[Expr, Expr]  # from a variable to its constant; never changed once made
PATIENCE = 20_000_000  # entries of states looked at before the pass gives up


class KnownConstants:
    """The result of the propagation. States are kept at *leaders* only: where control comes in by a call,
    a branch or several ways; between them they are computed again."""

    def __init__(self, program: Program, fixed: State, writes: Mapping[str, Mapping[Expr, None]]) -> None:
        self.program = program
        self.fixed = fixed
        self.writes = writes
        self.leaders: dict[Location, State] = {}

    def at(self, location: Location) -> State | None:
        """What is known at a location, `fixed` aside; None if it is not reached."""
        procedure = self.program.procedures[location.procedure]
        way: list[Edge] = []
        while location not in self.leaders:
            into = procedure.predecessors[location]
            if not self.passes(procedure, location) or len(way) > len(procedure.edges):
                return None
            way.append(into[0])
            location = into[0].source
        state: State | None = self.leaders[location]
        for edge in reversed(way):
            state = None if state is None else self.after(edge, state)
        return state

    @staticmethod
    def passes(procedure: Procedure, location: Location) -> bool:
        """Whether control comes to a location only by a single statement, which is no branch."""
        into = procedure.predecessors[location]
        if len(into) != 1 or location is procedure.entry:
            return False
        return len(procedure.successors[into[0].source]) == 1

    def after(self, edge: Edge, state: State) -> State | None:
        """What is known after an edge that is executed in `state`; None if it is disabled there."""
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
        """The terms of an op, with constants for what is known."""
        given = terms(op)
        return substitute_all(given, {x: c for x in variables(*given) if (c := self.constant(x, state))})

    def constant(self, variable: Expr, state: State) -> Expr | None:
        return state.get(variable) or self.fixed.get(variable)

    def bound(self, call: Call, state: State) -> State:
        """What is known at the entry of a callee."""
        callee = self.program.procedures[call.procedure]
        entry = {x: c for x in self.program.globals if (c := state.get(x))}
        for x, value in zip(callee.parameters, self.folded(call, state), strict=True):
            if value.kind is Kind.CONST:
                entry[x] = value
        return entry


def _refined(state: State, condition: Expr) -> State:
    """`state` with the equalities in a condition."""
    parts = condition.args if condition.kind is Kind.AND else (condition,)
    found: dict[Expr, Expr] = {}
    for part in parts:
        if part.kind is Kind.EQ:
            for x, c in (part.args, part.args[::-1]):
                if x.kind is Kind.VAR and c.kind is Kind.CONST:
                    found[x] = c
        elif part.kind is Kind.VAR and part.sort is BOOL:
            found[part] = build.TRUE
        elif part.kind is Kind.NOT and part.args[0].kind is Kind.VAR:
            found[part.args[0]] = build.FALSE
    return {**state, **found} if found else state


# ------------------------------------------------------------------------------------ propagation


def propagate(program: Program) -> KnownConstants | None:
    """The constants of a program; None if there is too much to look at."""
    writes = global_writes(program)
    everywhere = {x for found in writes.values() for x in found}
    fixed = {x: c for x, c in program.initial.items() if x not in everywhere and c.kind is Kind.CONST}
    known = KnownConstants(program, fixed, writes)
    start = {x: c for x, c in program.initial.items() if x not in fixed and c.kind is Kind.CONST}
    return known if _Propagation(known).run(start) else None


class _Propagation:
    """A work list of leaders, in the order of control: callers before callees, sources before targets."""

    def __init__(self, known: KnownConstants) -> None:
        self.known = known
        self.program = known.program
        self.forgotten: dict[Location, dict[Expr, None]] = {}  # what may not be a constant at a location
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

        done: set[Location] = {procedure.entry}
        stack = [(procedure.entry, targets(procedure.entry))]
        finished: list[Location] = []
        while stack:
            at, rest = stack[-1]
            for target in rest:
                if target not in done:
                    done.add(target)
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
                    inside[loop].update(self.known.writes[edge.op.procedure])
        for loop in reversed(forest.loops):
            if loop.parent is not None:
                inside[loop.parent].update(inside[loop])
        for loop in forest.loops:
            reducible = len(loop.entries) == 1
            for at in loop.entries if reducible else sorted(loop.body, key=lambda at: at.index):
                self.forgotten.setdefault(at, {}).update(inside[loop])

    def run(self, start: State) -> bool:
        """Propagate from the start; False if that takes too long."""
        self._arrive(self.program.entry, start)
        while self.queue:
            _, leader = heappop(self.queue)
            self.waiting.discard(leader)
            self._leave(leader, self.known.leaders[leader])
            if self.spent > PATIENCE:
                return False
        return True

    def _leave(self, at: Location, state: State) -> None:
        """Follow control from `at` to the next leaders."""
        procedure = self.program.procedures[at.procedure]
        while True:
            edges = procedure.successors[at]
            for edge in edges:
                self.spent += len(state)
                if isinstance(edge.op, Call):
                    callee = self.program.procedures[edge.op.procedure]
                    again = bool(callee.predecessors[callee.entry])
                    self._arrive(callee.entry, {} if again else self.known.bound(edge.op, state))
                after = self.known.after(edge, state)
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
        return at in self.forgotten or not self.known.passes(procedure, at)

    def _arrive(self, at: Location, state: State) -> None:
        forgotten = self.forgotten.get(at)
        if forgotten:
            state = {x: c for x, c in state.items() if x not in forgotten}
        before = self.known.leaders.get(at)
        if before is not None:
            self.spent += len(before)
            joined = {x: c for x, c in before.items() if state.get(x) is c}
            if len(joined) == len(before):
                return
            state = joined
        self.known.leaders[at] = state
        if at not in self.waiting:
            self.waiting.add(at)
            heappush(self.queue, (self.order[at], at))

"""Fold constants and remove dead code.

A state maps variables to constants at a location. Propagation starts at the entry of main with the initial
values of globals. An edge that is disabled in a state propagates nothing (Wegman and Zadeck, "Constant
propagation with conditional branches", 1991). A callee starts with the constants that all its reached calls
agree on; after a call, its targets and the globals that the callee may write are unknown. Globals that no
statement writes are kept separately (`fixed`): their values hold everywhere.

At a loop without an invariant in the proof, `validate` forgets all variables that the loop may write. So a
variable written in a loop is never constant at its head, even if every write has the same value; in an
irreducible loop it is constant nowhere. Therefore the constants at any set of points are inductive together.

The back map: a formula about the folded program, conjoined with the constants that were used, is a formula
about the original program. Traces stay as they are, because removed edges are never executed. Bounds of the
folded program's loops and recursion bound those of the original program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from certus.core import build
from certus.core.effects import global_writes, ordered, single_statements, terms, with_terms, written
from certus.core.engine import BackMap, Task, unrolling_before
from certus.core.evidence import Inductive, KInductive, Point, Proof, Unrolling, in_frame, old
from certus.core.loops import Loop, call_graph, components, loop_forest, recursive
from certus.core.program import Assign, Assume, Call, Edge, Location, Op, Procedure, Program, Return
from certus.core.terms import BOOL, Expr, Kind
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


NEVER = Assume(build.FALSE)


@dataclass(frozen=True, slots=True)
class Constants:
    """The constant folding pass."""

    @property
    def name(self) -> str:
        return "constants"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not single_statements(program):
            return task, BackMap.identity()
        states = propagate(program)
        if states is None:
            return task, BackMap.identity()
        folded, used = fold(program, states)
        kept = folded.location
        facts = {p: fact for p, fact in task.facts.items() if kept.get(p.location.name) is p.location}
        back = _Back(program, folded, states, used)
        return replace(task, subject=folded, facts=facts), BackMap(back.proof, lambda trace: trace)


# ---------------------------------------------------------------------------------------- folding


def fold(program: Program, states: ConstantStates) -> tuple[Program, dict[Expr, None]]:
    """Return the program with constants substituted and without dead code, and the substituted variables.

    Dead edges stay, as `NEVER`, where otherwise a recursion or a loop would disappear, for example because a
    procedure called in the loop would no longer return."""
    used: dict[Expr, None] = {}
    rigid = frozenset(name for group in recursive(program) for name in group)
    folded: dict[str, Procedure] = {}
    for name, procedure in program.procedures.items():
        live = {e.index: e for e in _folded(procedure, states, used)}
        all_edges = sorted(procedure.edges, key=lambda e: e.index)
        edges = _with_loops(procedure, all_edges, live, states)
        if name in rigid or (_returns(procedure, all_edges) and not _returns(procedure, edges)):
            edges = [live.get(e.index, e) for e in all_edges]
        folded[name] = procedure if edges == all_edges else replace(procedure, edges=tuple(edges))
    needed = _called(program.main, folded)
    procedures = {name: procedure for name, procedure in folded.items() if name in needed}
    locations = frozenset(at for p in procedures.values() for at in p.locations)
    errors = tuple(site for site in program.errors if site.location in locations)
    return replace(program, procedures=procedures, errors=errors), used


def _with_loops(
    procedure: Procedure, edges_before: list[Edge], live: Mapping[int, Edge], states: ConstantStates
) -> list[Edge]:
    """Return the live edges, and dead ones where otherwise a loop would disappear: the invariants of a proof
    at loop heads must cut every reachable cycle."""
    kept = {e.index for e in edges_before if e.index in live and live[e.index].op != NEVER}
    while True:
        edges = [live.get(e.index, e) for e in edges_before if e.index in kept]
        if len(edges) == len(edges_before):
            return edges
        cut = frozenset(loop_forest(replace(procedure, edges=tuple(edges))).heads)
        lost: set[Location] = set()
        for cycle in components([at for at in procedure.locations if at not in cut], _targets(procedure)):
            cyclic = len(cycle) > 1 or any(e.target is cycle[0] for e in procedure.successors[cycle[0]])
            if cyclic and any(states.at(at) is not None for at in cycle):
                lost.update(cycle)
        restored = {e.index for e in edges_before if e.source in lost and e.target in lost}
        if restored <= kept:
            return edges
        kept |= restored


def _returns(procedure: Procedure, edges: Iterable[Edge]) -> bool:
    """Tell whether there is a path from the entry to the exit."""
    targets: dict[Location, list[Location]] = {}
    for edge in edges:
        targets.setdefault(edge.source, []).append(edge.target)
    reached = {procedure.entry}
    work = [procedure.entry]
    while work:
        for target in targets.get(work.pop(), ()):
            if target not in reached:
                reached.add(target)
                work.append(target)
    return procedure.exit in reached


def _targets(procedure: Procedure) -> Callable[[Location], Iterator[Location]]:
    return lambda at: (e.target for e in procedure.successors[at])


def _called(main: str, procedures: Mapping[str, Procedure]) -> frozenset[str]:
    """Return the procedures that main calls, directly or indirectly."""
    called = {main: None}
    work = [main]
    while work:
        for edge in procedures[work.pop()].edges:
            if isinstance(edge.op, Call) and edge.op.procedure not in called:
                called[edge.op.procedure] = None
                work.append(edge.op.procedure)
    return frozenset(called)


def _folded(procedure: Procedure, states: ConstantStates, used: dict[Expr, None]) -> Iterable[Edge]:
    """Yield the edges from reachable locations with constants substituted; disabled ones are `NEVER`."""
    for leader in procedure.locations:
        state = states.leaders.get(leader)
        at: Location | None = leader
        while at is not None and state is not None:
            here, at = at, None
            now = state
            for edge in procedure.successors[here]:
                used.update((x, None) for x in variables(*terms(edge.op)) if states.constant(x, now))
                values = states.folded(edge.op, now)
                yield edge if values == terms(edge.op) else replace(edge, op=with_terms(edge.op, values))
                after = states.after(edge, now)
                if after is None:
                    continue
                if edge.target not in states.leaders:
                    at, state = edge.target, after


# --------------------------------------------------------------------------------------- evidence


class _Back:
    """A back map for proofs, which adds the constants that folding relied on."""

    def __init__(
        self, before: Program, after: Program, states: ConstantStates, used: Mapping[Expr, None]
    ) -> None:
        self.before = before
        self.after = after
        self.states = states
        self.used = used

    def proof(self, proof: Proof) -> Proof:
        if isinstance(proof, Unrolling):
            return unrolling_before(self.before, self.after, proof)
        if isinstance(proof, KInductive):
            return KInductive(proof.k, self._strengthened(proof.invariants, {}))
        if isinstance(proof, Inductive):
            kept = self._kept(proof)
            invariants = self._strengthened(proof.invariants, kept)
            for name in proof.summaries:
                entry = self.before.procedures[name].entry
                if Point(entry) not in invariants and not self.before.procedures[name].predecessors[entry]:
                    invariants[Point(entry)] = self._facts(Point(entry))
            summaries = {name: build.and_(formula, kept[name]) for name, formula in proof.summaries.items()}
            for name in self._uncalled():
                summaries[name] = invariants[Point(self.before.procedures[name].entry)] = build.FALSE
            return Inductive(invariants, summaries)
        return proof

    def _strengthened(self, invariants: Mapping[Point, Expr], kept: Mapping[str, Expr]) -> dict[Point, Expr]:
        """Conjoin each formula with the constants at its point, and with `kept` of its outermost
        procedure."""
        strengthened: dict[Point, Expr] = {}
        for point, formula in invariants.items():
            first = self.before.edge[point.calls[0]].source if point.calls else point.location
            always = kept.get(first.procedure, build.TRUE)
            strengthened[point] = build.and_(formula, self._facts(point), always)
        return strengthened

    def _uncalled(self) -> Iterator[str]:
        """Yield the recursive procedures that only dead code calls."""
        groups = recursive(self.before)
        return (name for group in groups for name in group if name not in self.after.procedures)

    def _kept(self, proof: Inductive) -> dict[str, Expr]:
        """Return, for each summarised procedure, that globals it writes only in dead code do not change."""
        live_writes = global_writes(self.after)
        unchanged: dict[str, Expr] = {}
        for name in proof.summaries:
            dead = (x for x in self.states.writes[name] if x not in live_writes.get(name, {}))
            unchanged[name] = build.conjunction(build.eq(x, old(x)) for x in dead)
        return unchanged

    def _facts(self, point: Point) -> Expr:
        """Return the substituted constants at a point, for all its frames; false in dead code, whose steps
        need not keep the constants of other points. Globals that a callee does not write have their value at
        the call, even if other calls of it have other values."""
        before = self.before
        frames = (*(before.edge[call].source for call in point.calls), point.location)
        if any(self.states.at(frame) is None for frame in frames):
            return build.FALSE
        parts = [self._equal(self.states.fixed, before.globals, 0)]
        for depth, call in enumerate(map(before.edge.__getitem__, point.calls)):
            assert isinstance(call.op, Call)
            written = self.states.writes[call.op.procedure]
            parts += self._frame(call.source, [x for x in before.globals if x not in written], depth)
        parts += self._frame(point.location, before.globals, len(point.calls))
        return build.conjunction(parts)

    def _frame(self, location: Location, shared: Iterable[Expr], depth: int) -> Iterator[Expr]:
        """Yield the constants at the location of a frame, of its own variables and of some globals."""
        state = self.states.at(location) or {}
        yield self._equal(state, self.before.procedures[location.procedure].variables, depth)
        yield self._equal(state, shared, 0)

    def _equal(self, state: State, scope: Iterable[Expr], depth: int) -> Expr:
        constants = ordered(scope, {x: None for x in state if x in self.used})
        return build.conjunction(build.eq(in_frame(x, depth), state[x]) for x in constants)

"""Fold constants and remove dead code.

The back map: the constants at any set of points are inductive together (`constant_propagation`). So a formula
about the folded program, conjoined with the constants that were used, is a formula about the original
program. Traces stay as they are, because removed edges are never executed. Bounds of the folded program's
loops and recursion bound those of the original program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from certus.core import build
from certus.core.effects import global_writes, terms
from certus.core.evidence import Inductive, KInductive, Point, Proof, Unrolling, in_frame, old
from certus.core.loops import components, loop_forest, recursive
from certus.core.program import Assume, Call, Edge, Location, Procedure, Program
from certus.core.task import BackMap, Task
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.passes.constant_propagation import ConstantStates, State, propagate
from certus.passes.statements import ordered, single_statements, unrolling_before, with_terms

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
        """Return the substituted constants at a point, for all its frames. Globals that a callee does not
        write have their value at the call, even if other calls of it have other values."""
        before = self.before
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

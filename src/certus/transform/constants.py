"""Constant folding: what `propagation` knows is put in, and what is dead goes.

Evidence must be checked on the program as given. The facts at any points, taken together, are inductive by
themselves, so a formula about the folded program with the facts that were used conjoined is one about the
original. Traces need no change: removed edges are never executed. What the folded program's loops and
recursion are bounded by, bounds the original's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from certus.core import build
from certus.core.effects import terms
from certus.core.evidence import Inductive, KInductive, Point, Proof, Unrolling, in_frame, old
from certus.core.loops import components, loop_forest, recursive
from certus.core.program import Assume, Call, Edge, Location, Procedure, Program
from certus.core.task import BackMap, Task
from certus.core.terms import Expr
from certus.core.walk import variables
from certus.transform.effects import global_writes, ordered, single_statements, with_terms
from certus.transform.propagation import KnownConstants, State, propagate
from certus.transform.retrace import unrolling_before

NEVER = Assume(build.FALSE)


@dataclass(frozen=True, slots=True)
class Constants:
    """The pass."""

    @property
    def name(self) -> str:
        return "constants"

    def apply(self, task: Task) -> tuple[Task, BackMap]:
        program = task.subject
        if not isinstance(program, Program) or not single_statements(program):
            return task, BackMap.identity()
        known = propagate(program)
        if known is None:
            return task, BackMap.identity()
        folded, used = fold(program, known)
        left = folded.location
        facts = {p: fact for p, fact in task.facts.items() if left.get(p.location.name) is p.location}
        back = _Back(program, folded, known, used)
        return replace(task, subject=folded, facts=facts), BackMap(back.proof, lambda trace: trace)


# ---------------------------------------------------------------------------------------- folding


def fold(program: Program, known: KnownConstants) -> tuple[Program, dict[Expr, None]]:
    """The program without its dead parts and with constants put in, and the variables these were put
    in for. Dead edges stay, as `NEVER`, where recursion or a loop would else be none any more, be it because
    a procedure that is called in the loop never returns."""
    used: dict[Expr, None] = {}
    rigid = frozenset(name for group in recursive(program) for name in group)
    folded: dict[str, Procedure] = {}
    for name, procedure in program.procedures.items():
        found = {e.index: e for e in _folded(procedure, known, used)}
        given = sorted(procedure.edges, key=lambda e: e.index)
        edges = _with_loops(procedure, given, found, known)
        if name in rigid or (_returns(procedure, given) and not _returns(procedure, edges)):
            edges = [found.get(e.index, e) for e in given]
        folded[name] = procedure if edges == given else replace(procedure, edges=tuple(edges))
    needed = _called(program.main, folded)
    procedures = {name: procedure for name, procedure in folded.items() if name in needed}
    left = frozenset(at for p in procedures.values() for at in p.locations)
    errors = tuple(site for site in program.errors if site.location in left)
    return replace(program, procedures=procedures, errors=errors), used


def _with_loops(
    procedure: Procedure, given: list[Edge], found: Mapping[int, Edge], known: KnownConstants
) -> list[Edge]:
    """The edges that are not dead, and dead ones where a loop would else be none any more: what a proof
    says at loop heads must cut every cycle that can be entered."""
    kept = {e.index for e in given if e.index in found and found[e.index].op != NEVER}
    while True:
        edges = [found.get(e.index, e) for e in given if e.index in kept]
        if len(edges) == len(given):
            return edges
        cut = frozenset(loop_forest(replace(procedure, edges=tuple(edges))).heads)
        lost: set[Location] = set()
        for cycle in components([at for at in procedure.locations if at not in cut], _targets(procedure)):
            cyclic = len(cycle) > 1 or any(e.target is cycle[0] for e in procedure.successors[cycle[0]])
            if cyclic and any(known.at(at) is not None for at in cycle):
                lost.update(cycle)
        back = {e.index for e in given if e.source in lost and e.target in lost}
        if back <= kept:
            return edges
        kept |= back


def _returns(procedure: Procedure, edges: Iterable[Edge]) -> bool:
    """Whether there is a way from the entry to the exit."""
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
    """The procedures that are called, one by the other, from main."""
    found = {main: None}
    work = [main]
    while work:
        for edge in procedures[work.pop()].edges:
            if isinstance(edge.op, Call) and edge.op.procedure not in found:
                found[edge.op.procedure] = None
                work.append(edge.op.procedure)
    return frozenset(found)


def _folded(procedure: Procedure, known: KnownConstants, used: dict[Expr, None]) -> Iterable[Edge]:
    """The edges from reached locations, with constants put in: those that are dead are `NEVER`."""
    for leader in procedure.locations:
        state = known.leaders.get(leader)
        at: Location | None = leader
        while at is not None and state is not None:
            here, at = at, None
            now = state
            for edge in procedure.successors[here]:
                used.update((x, None) for x in variables(*terms(edge.op)) if known.constant(x, now))
                values = known.folded(edge.op, now)
                yield edge if values == terms(edge.op) else replace(edge, op=with_terms(edge.op, values))
                after = known.after(edge, now)
                if after is None:
                    continue
                if edge.target not in known.leaders:
                    at, state = edge.target, after


# --------------------------------------------------------------------------------------- evidence


class _Back:
    """Carries proofs back: adds what the folding relied on."""

    def __init__(
        self, before: Program, after: Program, known: KnownConstants, used: Mapping[Expr, None]
    ) -> None:
        self.before = before
        self.after = after
        self.known = known
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
            summaries = {name: build.and_(found, kept[name]) for name, found in proof.summaries.items()}
            for name in self._uncalled():
                summaries[name] = invariants[Point(self.before.procedures[name].entry)] = build.FALSE
            return Inductive(invariants, summaries)
        return proof

    def _strengthened(self, invariants: Mapping[Point, Expr], kept: Mapping[str, Expr]) -> dict[Point, Expr]:
        """Each formula with the facts at its point. `kept`: what else holds under a summarised root."""
        found: dict[Point, Expr] = {}
        for point, formula in invariants.items():
            first = self.before.edge[point.calls[0]].source if point.calls else point.location
            always = kept.get(first.procedure, build.TRUE)
            found[point] = build.and_(formula, self._facts(point), always)
        return found

    def _uncalled(self) -> Iterator[str]:
        """Recursive procedures that are only called in dead code."""
        groups = recursive(self.before)
        return (name for group in groups for name in group if name not in self.after.procedures)

    def _kept(self, proof: Inductive) -> dict[str, Expr]:
        """By summarised procedure: globals that it writes only in dead code stay as they were."""
        left = global_writes(self.after)
        found: dict[str, Expr] = {}
        for name in proof.summaries:
            dead = (x for x in self.known.writes[name] if x not in left.get(name, {}))
            found[name] = build.conjunction(build.eq(x, old(x)) for x in dead)
        return found

    def _facts(self, point: Point) -> Expr:
        """The constants at a point, of all its frames, that something was folded with. What the callees leave
        alone is as it was at the call, even where they are called with other values too."""
        before = self.before
        parts = [self._equal(self.known.fixed, before.globals, 0)]
        for depth, call in enumerate(map(before.edge.__getitem__, point.calls)):
            assert isinstance(call.op, Call)
            written = self.known.writes[call.op.procedure]
            parts += self._frame(call.source, [x for x in before.globals if x not in written], depth)
        parts += self._frame(point.location, before.globals, len(point.calls))
        return build.conjunction(parts)

    def _frame(self, location: Location, shared: Iterable[Expr], depth: int) -> Iterator[Expr]:
        """What is known where the frame is: of its own variables, and of some globals."""
        state = self.known.at(location) or {}
        yield self._equal(state, self.before.procedures[location.procedure].variables, depth)
        yield self._equal(state, shared, 0)

    def _equal(self, state: State, scope: Iterable[Expr], depth: int) -> Expr:
        found = ordered(scope, {x: None for x in state if x in self.used})
        return build.conjunction(build.eq(in_frame(x, depth), state[x]) for x in found)

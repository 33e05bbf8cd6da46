"""Compute path edges and summary edges by a worklist (Armando et al. 2004, section 3.2).

Invariant: every path edge in a store represents executions of the program (an over-approximation, if not
exact), and the stores contain the consequences of all path edges that have left the worklist. At a call both
rules apply: the callee is entered, and its present summaries are used; later summaries are used at all calls
recorded by then. When the worklist is empty, the stores cover all executions.

`Acceleration` makes the procedure end where enumeration would not: by closures of loops at their heads and of
recursion at entries, and by summaries for all inputs. `Widening`, if present, is applied at vertices that
every cycle passes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from certus.core import build
from certus.core.accounting import Budget
from certus.core.program import Call, Edge, Location
from certus.engines.linear.acceleration import Acceleration
from certus.engines.linear.edges import (
    Entered,
    Jumped,
    PathEdge,
    Provenance,
    Returned,
    Start,
    Stepped,
    Store,
    VectorIndex,
    join,
    lift,
    se_join,
    self_loop,
)
from certus.engines.linear.transitions import Transitions
from certus.engines.linear.widening import Widening
from certus.solvers.isl.presburger import TooHard
from certus.solvers.isl.relations import Relation

Pick = Callable[["deque[PathEdge]"], PathEdge]


def oldest(worklist: deque[PathEdge]) -> PathEdge:
    return worklist.popleft()


@dataclass(slots=True, eq=False)
class Tabulation:
    """The state (W, P, S) of the procedure, with its transitions, acceleration and widening."""

    transitions: Transitions
    acceleration: Acceleration
    widening: Widening | None = None
    pick: Pick = oldest
    worklist: deque[PathEdge] = field(default_factory=deque)  # W
    paths: dict[Location, Store] = field(default_factory=dict)  # P
    summaries: dict[str, VectorIndex[tuple[PathEdge, Relation]]] = field(default_factory=dict)  # S
    calls: dict[str, VectorIndex[tuple[PathEdge, Edge]]] = field(
        default_factory=dict
    )  # reached so far, by callee
    errors: list[PathEdge] = field(default_factory=list)  # path edges at error vertices

    def __post_init__(self) -> None:
        program = self.transitions.program
        frame = self.transitions.frames[program.main]
        initial = [build.eq(x, value) for x, value in program.initial.items() if x in frame.entry]
        first = self.transitions.relations.of(initial, (), frame.entry)
        opened = self_loop(first).then(self.transitions.opening(frame))
        self.prop(program.entry, opened, Start())

    def run(self, steps: int, budget: Budget) -> bool:
        """Take `steps` steps; return whether the worklist is empty or an error vertex is reached. A step that
        is too hard stays to be done."""
        for _ in range(steps):
            if not self.worklist or self.errors:
                return True
            budget.check()
            at = self.pick(self.worklist)
            try:
                self.step(at)
            except TooHard:
                self.worklist.appendleft(at)
                raise
        return not self.worklist or bool(self.errors)

    @property
    def length(self) -> int:
        """The number of path edges in all stores."""
        return sum(len(store.edges) for store in self.paths.values())

    def step(self, at: PathEdge) -> None:
        """Apply the rule for the vertex of one path edge: calls, returns, and for conditionals and all other
        statements prop(successor, Join(P_i, tau)) for each successor."""
        procedure = self.transitions.program.procedures[at.vertex.procedure]
        for edge in procedure.successors[at.vertex]:
            if isinstance(edge.op, Call):
                self.call(at, edge, edge.op.procedure)
            else:
                self.prop(edge.target, join(at.relation, self.transitions.step(edge)), Stepped(at, edge))
        if at.vertex is procedure.exit:
            self.exit(at)

    def call(self, at: PathEdge, edge: Edge, callee: str) -> None:
        """Procedure calls: prop(entry, SelfLoop(Join(P_i, tau_i))), which enters the callee only with new
        vectors, and prop(Next(i), SEJoin(P_i, S)), which passes over it."""
        frame = self.transitions.frames[callee]
        entered = self_loop(join(at.relation, self.transitions.binding(edge)))
        self.prop(frame.procedure.entry, entered.then(self.transitions.opening(frame)), Entered(at, edge))
        passage = self.acceleration.passage(edge)
        if passage is not None:
            self.prop(edge.target, join(at.relation, passage), Jumped(at))
            return
        vector = entered.fixed()[: entered.inputs]
        self.calls.setdefault(callee, VectorIndex()).add(vector, (at, edge))
        for ended, sigma in self.summaries.setdefault(callee, VectorIndex()).agreeing(vector):
            returned = se_join(at.relation, sigma, edge, self.transitions)
            self.prop(edge.target, returned, Returned(at, edge, ended))

    def exit(self, at: PathEdge) -> None:
        """Return from procedure calls: add s = Lift(P_i) to S, and prop(Next(c), SEJoin(P_c, s)) at every
        recorded call c that may enter with the entry vector of s."""
        name = at.vertex.procedure
        sigma = lift(at.relation, self.transitions.frames[name])
        vector = sigma.fixed()[: sigma.inputs]
        self.summaries.setdefault(name, VectorIndex()).add(vector, (at, sigma))
        for before, edge in self.calls.setdefault(name, VectorIndex()).agreeing(vector):
            returned = se_join(before.relation, sigma, edge, self.transitions)
            self.prop(edge.target, returned, Returned(before, edge, at))

    def prop(self, vertex: Location, relation: Relation, by: Provenance) -> None:
        """Prop: add the disjuncts that are not entailed to the store and to the worklist."""
        store = self._store(vertex)
        for new in relation.disjuncts():
            if store.covers(new) or new.is_empty():
                continue
            edge = PathEdge(vertex, new, by)
            if self.widening is not None:
                edge = self.widening.applied(edge, store)
            self._keep(edge, store)
            if not isinstance(by, Jumped):
                for target, jumped in self.acceleration.jumps(edge):
                    self.prop(target, jumped, Jumped(edge))

    def _keep(self, edge: PathEdge, store: Store) -> None:
        store.add(edge)
        counters = self.transitions.relations.statistics.counters
        counters["linear.disjuncts"] = max(counters["linear.disjuncts"], len(store.edges))
        if edge.vertex in self.transitions.program.error_locations:
            self.errors.append(edge)
        else:
            self.worklist.append(edge)

    def _store(self, vertex: Location) -> Store:
        store = self.paths.get(vertex)
        if store is None:
            frame = self.transitions.frames[vertex.procedure]
            store = self.paths[vertex] = Store(self.transitions.relations, len(frame.entry), len(frame.state))
        return store

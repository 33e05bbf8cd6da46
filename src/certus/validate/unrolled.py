"""The clauses of an unrolling proof: the checker's own unrolling.

The program is executed symbolically region by region: a loop's body as often as its bound allows, a
callee in place of its call. What would go beyond a bound is collected, and what fails: that both are
impossible are the clauses, one per loop and recursive procedure and one for the errors.

Long unrollings ask a solver for flows that are impossible and do not follow them. These too are
collected, and that they are impossible is one more clause, so the pruning need not be trusted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from certus.core import build
from certus.core.budget import Budget
from certus.core.evidence import Unrolling
from certus.core.loops import Loop, LoopForest, components, loop_forest, recursive
from certus.core.program import Assign, Assume, Call, Edge, Havoc, Location, Procedure, Program, Return
from certus.core.statistics import Statistics
from certus.core.terms import Expr
from certus.core.walk import Substitution
from certus.logic.solver import Answer
from certus.validate.ssa import Clause, Flow, Formula

PATIENCE = 3_000  # executed edges before flows are asked for

Flows = dict[Location, list[Flow]]
Running = Generator[Any, Any, Any]  # yields what it calls and is sent the result: no Python recursion


def unrolling_clauses(
    program: Program, proof: Unrolling, budget: Budget, statistics: Statistics
) -> Iterator[Clause]:
    """All clauses of the proof."""
    unrolled = _Unrolled(program, proof, budget, statistics)
    unrolled.execute()
    yield from unrolled.clauses()


class _Unrolled:
    def __init__(self, program: Program, proof: Unrolling, budget: Budget, statistics: Statistics) -> None:
        self.program = program
        self.proof = proof
        self.budget = budget
        self.statistics = statistics
        self.formula = Formula()
        self.failing: list[Flow] = []  # at error locations
        self.beyond: dict[str, list[Flow]] = {}  # what exceeds a bound, by what it would enter
        self.pruned: list[Flow] = []  # not followed
        self.executed = 0
        self._recursive = {name for group in recursive(program) for name in group}
        self._forests: dict[str, LoopForest] = {}
        self._orders: dict[tuple[str, Loop | None], list[Location | Loop]] = {}
        self._solver: _Pruner | None = None

    def execute(self) -> None:
        initial = dict(self.program.initial)
        main = self.program.procedures[self.program.main]
        _drive(self._call(main, Flow(build.TRUE, initial), {}))

    def clauses(self) -> Iterator[Clause]:
        claims = [("no error is reached", self.failing)]
        claims += [(f"{what} within the bound", flows) for what, flows in self.beyond.items()]
        claims += [("what was not unrolled is impossible", self.pruned)]
        for title, flows in claims:
            if flows:
                clause = self.formula.clause(title, self.formula.merge(flows, only=()))
                assert clause is not None, "the conclusion is false"
                yield clause

    # ----------------------------------------------------------------------------- procedures

    def _call(self, procedure: Procedure, flow: Flow, active: Mapping[str, int]) -> Running:
        """Execute an activation from its entry; gives the merged flow at its exit, or None."""
        name = procedure.name
        if name in self._recursive:
            active = {**active, name: active.get(name, 0) + 1}
            if active[name] > self.proof.recursion.get(name, 0):
                self.beyond.setdefault(f"the activations of {name} stay", []).append(flow)
                return None
            if active[name] > 1 and self._impossible(flow):
                return None
        leaving: Flows = yield self._region(procedure, None, {procedure.entry: [flow]}, active)
        ends = leaving.get(procedure.exit)
        return self.formula.merge(ends) if ends else None

    def _region(
        self, procedure: Procedure, region: Loop | None, arrived: Flows, active: Mapping[str, int]
    ) -> Running:
        """Execute a loop's body, or a whole procedure, once from `arrived`; gives the flows that leave it
        or come to an entry of it again (for a procedure: that come to its exit)."""
        leaving: Flows = {}
        inside = None if region is None else region.body
        again = () if region is None else region.entries

        def dispatch(target: Location, flows: list[Flow]) -> None:
            stays = target not in again and (inside is None or target in inside)
            (arrived if stays else leaving).setdefault(target, []).extend(flows)

        for item in self._order(procedure, region):
            if isinstance(item, Loop):
                entering = {at: arrived.pop(at) for at in item.entries if at in arrived}
                if entering:
                    left: Flows = yield self._loop(procedure, item, entering, active)
                    for target, flows in left.items():
                        dispatch(target, flows)
            elif item in arrived:
                flow = self.formula.merge(arrived.pop(item))
                if item is procedure.exit:
                    leaving.setdefault(item, []).append(flow)
                for edge in procedure.successors[item]:
                    after: Flow | None = yield self._edge(procedure, edge, flow, active)
                    if after is None:
                        continue
                    if edge.target in self.program.error_locations:
                        self.failing.append(after)
                    else:
                        dispatch(edge.target, [after])
        return leaving

    def _loop(self, procedure: Procedure, loop: Loop, entering: Flows, active: Mapping[str, int]) -> Running:
        """Execute a loop up to its bound; gives the flows that leave it."""
        leaving: Flows = {}
        for number in range(self.proof.loops.get(loop.head.name, 0)):
            if number > 0:
                entering = self._possible(entering)
            if not entering:
                return leaving
            ends: Flows = yield self._region(procedure, loop, entering, active)
            entering = {at: ends.pop(at) for at in loop.entries if at in ends}
            for target, flows in ends.items():
                leaving.setdefault(target, []).extend(flows)
        if entering:
            flows = [flow for arrived in entering.values() for flow in arrived]
            self.beyond.setdefault(f"the entries of {loop.head.name} stay", []).extend(flows)
        return leaving

    def _order(self, procedure: Procedure, region: Loop | None) -> list[Location | Loop]:
        """The locations and loops directly in a region, each after those that lead to it."""
        key = (procedure.name, region)
        if key not in self._orders:
            forest = self._forests.setdefault(procedure.name, loop_forest(procedure))
            locations = procedure.locations
            if region is not None:
                locations = tuple(at for at in locations if at in region.body)
            entries = () if region is None else region.entries

            def targets(at: Location) -> Iterator[Location]:
                return (e.target for e in procedure.successors[at] if e.target not in entries)

            order: list[Location | Loop] = []
            for component in reversed(components(locations, targets)):
                loops = [loop for loop in forest.around(component[0]) if loop.parent is region]
                order.append(loops[0] if loops else component[0])
            self._orders[key] = order
        return self._orders[key]

    # ---------------------------------------------------------------------------------- edges

    def _edge(self, procedure: Procedure, edge: Edge, flow: Flow, active: Mapping[str, int]) -> Running:
        """The flow after an edge; None if nothing flows through."""
        self.budget.check()
        self.executed += 1
        op = edge.op
        now = Substitution(flow.values)
        if isinstance(op, Assume):
            return self.formula.assume(flow, now.apply(op.condition))
        if isinstance(op, Havoc):
            return self.formula.havoc(flow, op.targets)
        if isinstance(op, Call):
            callee = self.program.procedures[op.procedure]
            shared = {x: flow.values[x] for x in self.program.globals if x in flow.values}
            fresh = self.formula.havoc(Flow(flow.literal, shared), callee.variables)
            bound = dict(zip(callee.parameters, now.apply_all(op.arguments), strict=True))
            end: Flow | None = yield self._call(callee, Flow(flow.literal, {**fresh.values, **bound}), active)
            return None if end is None else self._returned(op, callee, flow, end)
        assert isinstance(op, Assign | Return), "validate sees programs of single statements"
        targets = op.targets if isinstance(op, Assign) else procedure.results
        values = zip(targets, now.apply_all(op.values), strict=True)
        return Flow(flow.literal, {**flow.values, **dict(values)})

    def _returned(self, call: Call, callee: Procedure, before: Flow, end: Flow) -> Flow:
        shared = {x: end.values[x] for x in self.program.globals if x in end.values}
        results = {t: end.values.get(r, r) for t, r in zip(call.targets, callee.results, strict=False)}
        return Flow(end.literal, {**before.values, **shared, **results})

    # -------------------------------------------------------------------------------- pruning

    def _possible(self, flows: Flows) -> Flows:
        kept = {at: [f for f in arrived if not self._impossible(f)] for at, arrived in flows.items()}
        return {at: arrived for at, arrived in kept.items() if arrived}

    def _impossible(self, flow: Flow) -> bool:
        """Whether a solver says nothing flows here; then the flow is noted as pruned."""
        if self.executed < PATIENCE:
            return False
        if self._solver is None:
            self._solver = _Pruner(self.formula, self.budget, self.statistics)
        if not self._solver.impossible(flow.literal):
            return False
        self.pruned.append(flow)
        return True


class _Pruner:
    """An incremental solver that holds the definitions made so far. What is hard is taken for possible."""

    def __init__(self, formula: Formula, budget: Budget, statistics: Statistics) -> None:
        from certus.logic.patient import PatientSolver

        self._formula = formula
        self._budget = budget
        self._solver = PatientSolver(statistics)
        self._solver.turns = 3
        self._known = 0  # how many literals the solver knows the meaning of

    def impossible(self, literal: Expr) -> bool:
        literals = list(self._formula.meanings)
        for head in literals[self._known :]:
            self._solver.add(*(build.implies(head, m) for m in self._formula.meanings[head]))
        self._known = len(literals)
        return self._solver.check([literal], budget=self._budget, purpose="validate.prune") is Answer.UNSAT


def _drive(running: Running) -> Any:
    """Run a generator that yields the generators it calls, on a stack of our own."""
    stack: list[Running] = [running]
    value: Any = None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
        else:
            stack.append(called)
            value = None
    return value

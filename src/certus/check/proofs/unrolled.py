"""Derive the proof obligations of an unrolling, by the checker's own unrolling, independent of the engines'.

The program is executed symbolically, region by region: the body of a loop as often as its bound allows, a
callee in place of its call. Flows that would exceed a bound are collected, and so are flows that reach an
error. The obligations say that both are impossible: one for each loop and recursive procedure, and one for
the errors. Then every execution stays within the bounds, and within the bounds none fails.

In a long unrolling a solver finds impossible flows, which are not followed. They are collected as well, and
one more obligation says that they are impossible, so this pruning need not be trusted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TypeAlias, cast

from certus.check.proofs.expansion import Refused, not_basic
from certus.check.proofs.ssa import Clause, Flow, Formula
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.evidence import Unrolling
from certus.core.loops import Loop, LoopForest, components, loop_forest, recursive
from certus.core.program import Assign, Assume, Call, Edge, Havoc, Location, Procedure, Program, Return
from certus.core.solver import Answer
from certus.core.terms import Expr
from certus.core.walk import Substitution

UNPRUNED = 3_000  # executed edges before pruning starts

Flows = dict[Location, list[Flow]]
# A call on a stack of our own: it yields the calls that it makes, and is sent their results.
Running: TypeAlias = Generator["Running", object, object]


def unrolling_clauses(
    program: Program, proof: Unrolling, budget: Budget, statistics: Statistics
) -> Iterator[Clause]:
    """Yield all clauses of the proof; raises `Refused` if it cannot be a proof."""
    unrolled = _Unrolled(program, proof, budget, statistics)
    unrolled.execute()
    yield from unrolled.clauses()


class _Unrolled:
    """The symbolic execution of a program within the bounds of a proof."""

    def __init__(self, program: Program, proof: Unrolling, budget: Budget, statistics: Statistics) -> None:
        self.program = program
        self.proof = proof
        self.budget = budget
        self.statistics = statistics
        self.formula = Formula()
        self.failing: list[Flow] = []  # at error locations
        self.beyond: dict[str, list[Flow]] = {}  # flows that exceed a bound, by that bound
        self.pruned: list[Flow] = []  # not followed
        self.executed = 0
        self._recursive = {name for group in recursive(program) for name in group}
        self._forests: dict[str, LoopForest] = {}
        self._orders: dict[tuple[str, Loop | None], list[Location | Loop]] = {}
        self._solver: _Pruner | None = None

    def execute(self) -> None:
        """Execute the whole program."""
        initial = dict(self.program.initial)
        main = self.program.procedures[self.program.main]
        _drive(self._call(main, Flow(build.TRUE, initial), {}))

    def clauses(self) -> Iterator[Clause]:
        """Yield the obligations that the execution has collected."""
        claims = [("no error is reached", self.failing)]
        claims += [(f"{what} within the bound", flows) for what, flows in self.beyond.items()]
        claims += [("pruned executions are impossible", self.pruned)]
        for title, flows in claims:
            if flows:
                clause = self.formula.clause(title, self.formula.merge(flows, only=()))
                assert clause is not None, "the conclusion is false"
                yield clause

    # ----------------------------------------------------------------------------- procedures

    def _call(self, procedure: Procedure, flow: Flow, active: Mapping[str, int]) -> Running:
        """Execute an activation from its entry; returns the merged flow at its exit, or None."""
        name = procedure.name
        if procedure.entry in self.program.error_locations:
            self.failing.append(flow)
            return None
        if name in self._recursive:
            active = {**active, name: active.get(name, 0) + 1}
            if active[name] > self.proof.recursion.get(name, 0):
                self.beyond.setdefault(f"the activations of {name} stay", []).append(flow)
                return None
            if active[name] > 1 and self._impossible(flow):
                return None
        leaving = cast(Flows, (yield self._region(procedure, None, {procedure.entry: [flow]}, active)))
        ends = leaving.get(procedure.exit)
        return self.formula.merge(ends) if ends else None

    def _region(
        self, procedure: Procedure, region: Loop | None, arrived: Flows, active: Mapping[str, int]
    ) -> Running:
        """Execute the body of a loop, or a whole procedure, once from `arrived`; returns the flows that leave
        the loop or return to one of its entries (for a procedure: that reach its exit)."""
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
                    after_loop = cast(Flows, (yield self._loop(procedure, item, entering, active)))
                    for target, flows in after_loop.items():
                        dispatch(target, flows)
            elif item in arrived:
                flow = self.formula.merge(arrived.pop(item))
                if item is procedure.exit:
                    leaving.setdefault(item, []).append(flow)
                for edge in procedure.successors[item]:
                    after = cast(Flow | None, (yield self._edge(procedure, edge, flow, active)))
                    if after is None:
                        continue
                    if edge.target in self.program.error_locations:
                        self.failing.append(after)
                    else:
                        dispatch(edge.target, [after])
        if arrived:
            raise Refused("proof-not-checked", f"{procedure.name} has control flow that cannot be unrolled")
        return leaving

    def _loop(self, procedure: Procedure, loop: Loop, entering: Flows, active: Mapping[str, int]) -> Running:
        """Execute a loop up to its bound; returns the flows that leave it."""
        leaving: Flows = {}
        for number in range(self.proof.loops.get(loop.head.name, 0)):
            if number > 0:
                entering = self._possible(entering)
            if not entering:
                return leaving
            ends = cast(Flows, (yield self._region(procedure, loop, entering, active)))
            entering = {at: ends.pop(at) for at in loop.entries if at in ends}
            for target, flows in ends.items():
                leaving.setdefault(target, []).extend(flows)
        if entering:
            flows = [flow for arrived in entering.values() for flow in arrived]
            self.beyond.setdefault(f"the entries of {loop.head.name} stay", []).extend(flows)
        return leaving

    def _order(self, procedure: Procedure, region: Loop | None) -> list[Location | Loop]:
        """Return the locations and loops directly in a region, in topological order."""
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
        """Execute an edge; returns the flow after it, or None if it is impossible."""
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
            inner = Flow(flow.literal, {**fresh.values, **bound})
            end = cast(Flow | None, (yield self._call(callee, inner, active)))
            return None if end is None else self._returned(op, callee, flow, end)
        if not isinstance(op, Assign | Return):
            raise not_basic(edge)
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
        """Return whether a solver finds the flow impossible; if so, collect it as pruned."""
        if self.executed < UNPRUNED:
            return False
        if self._solver is None:
            self._solver = _Pruner(self.formula, self.budget, self.statistics)
        if not self._solver.impossible(flow.literal):
            return False
        self.pruned.append(flow)
        return True


class _Pruner:
    """An incremental solver with the definitions so far. A flow that it cannot decide counts as possible."""

    def __init__(self, formula: Formula, budget: Budget, statistics: Statistics) -> None:
        from certus.solvers.portfolio import SolverPortfolio

        self._formula = formula
        self._budget = budget
        self._solver = SolverPortfolio(statistics)
        self._solver.turns = 3
        self._added = 0  # literals whose definitions the solver has

    def impossible(self, literal: Expr) -> bool:
        """Return whether the solver proves that the literal is false."""
        literals = list(self._formula.meanings)
        for head in literals[self._added :]:
            self._solver.add(*(build.implies(head, m) for m in self._formula.meanings[head]))
        self._added = len(literals)
        return self._solver.check([literal], budget=self._budget, purpose="validate.prune") is Answer.UNSAT


def _drive(running: Running) -> None:
    """Run a generator that yields the generators it calls, without Python recursion."""
    stack = [running]
    value: object = None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as stop:
            stack.pop()
            value = stop.value

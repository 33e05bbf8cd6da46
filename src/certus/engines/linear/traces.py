"""Reconstruct an execution from a path edge at an error, backwards along the recorded steps.

The path edge gives an entry vector and a state. The step that produced it gives the state before and the
inputs of the block, and so on back to the entry of the procedure: through returns into callees and out of
them, and from the entry to the call in the caller. Each choice is one integer point of one relation, so the
work is linear in the length of the execution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.program import Edge, Havoc
from certus.core.solver import Answer
from certus.core.terms import BOOL, Expr, Value
from certus.core.values import ArrayValue
from certus.encoding.block_formula import edge_formula
from certus.engines.linear.blocks import modelled
from certus.engines.linear.edges import Entered, PathEdge, Returned, Start, Stepped, lift
from certus.engines.linear.paths import Path
from certus.engines.linear.transitions import Frame, Transitions
from certus.solvers.isl.relations import Relation
from certus.solvers.portfolio import SolverPortfolio

Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Goal:
    """A state to reconstruct the execution to, in a frame with this entry vector.

    `inner`: only from the entry of the procedure on, since another goal has its caller."""

    edge: PathEdge
    entry: Vector
    state: Vector
    inner: bool


@dataclass(slots=True, eq=False)
class Reconstruction:
    """The reconstruction of one execution."""

    transitions: Transitions
    budget: Budget
    events: list[tuple[Edge, tuple[Value, ...]]] = field(default_factory=list)  # from last to first
    initial: dict[Expr, Value] = field(default_factory=dict)

    def trace(self, error: PathEdge) -> Trace | None:
        """Return an execution to the error; None if some step over-approximates the program."""
        point = error.relation.pair()
        assert point is not None
        pending = [_Goal(error, *point, inner=False)]
        while pending:
            self.budget.check()
            before = self._before(pending.pop())
            if before is None:
                return None
            pending.extend(before)
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for edge, values in reversed(self.events):
            inputs.setdefault(edge.key, []).append(values)
        return Trace(error.vertex.name, self.initial, {k: tuple(v) for k, v in inputs.items()})

    def _before(self, goal: _Goal) -> list[_Goal] | None:
        """Return the goals before a goal, the last one to be treated first."""
        by = goal.edge.by
        frame = self.transitions.frames[goal.edge.vertex.procedure]
        if isinstance(by, Start):
            values = dict(zip(frame.entry, goal.entry, strict=True))
            self.initial = {
                x: _value(x, values[x])
                for x in frame.entry
                if x in self.transitions.program.globals and x not in self.transitions.program.initial
            }
            return []
        if isinstance(by, Stepped):
            return self._stepped(goal, by, frame)
        if isinstance(by, Entered):
            return [] if goal.inner else self._entered(goal, by)
        if isinstance(by, Returned):
            return self._returned(goal, by, frame)
        return None

    def _stepped(self, goal: _Goal, by: Stepped, frame: Frame) -> list[_Goal] | None:
        before = by.before.relation.fixing(_numbered(goal.entry), {})
        paths = self.transitions.paths(by.edge)
        if paths is None:
            return self._through(goal, by, frame, before)
        for path in paths:
            labelled = self.transitions.labelled(path, frame).fixing({}, _numbered(goal.state))
            point = labelled.starting(before).pair()
            if point is not None:
                state, inputs = point[0][: len(frame.state)], point[0][len(frame.state) :]
                self._record_inputs(path, inputs)
                return [_Goal(by.before, goal.entry, state, goal.inner)]
        return None

    def _through(self, goal: _Goal, by: Stepped, frame: Frame, before: Relation) -> list[_Goal] | None:
        """Return the state before a block with too many paths to list. A solver finds the path and inputs."""
        step = self.transitions.step(by.edge).fixing({}, _numbered(goal.state))
        point = step.starting(before).pair()
        block = edge_formula(by.edge, self.transitions.program)
        if point is None or block is None:
            return None
        values = {x: build.constant(_value(x, n), x.sort) for x, n in zip(frame.state, point[0], strict=True)}
        instance = block.instance(0, values)
        reached = zip(frame.state, goal.state, strict=True)
        ends = [(instance.values.get(x, values[x]), build.constant(_value(x, n), x.sort)) for x, n in reached]
        if by.edge.target in self.transitions.program.error_locations:
            ends = []
        solver = SolverPortfolio(self.transitions.relations.statistics)

        def scalar(term: Expr) -> Value:
            value = solver.value(term)
            assert not isinstance(value, ArrayValue), "inputs are scalars"
            return value

        solver.add(instance.guard, *instance.definitions, *(build.eq(a, b) for a, b in ends))
        if solver.check(budget=self.budget, purpose="inputs") is not Answer.SAT:
            return None
        for passage in reversed(instance.path(scalar)):
            if isinstance(passage.edge.op, Havoc):
                self.events.append((passage.edge, passage.inputs))
        return [_Goal(by.before, goal.entry, point[0], goal.inner)]

    def _record_inputs(self, path: Path, inputs: Sequence[int]) -> None:
        """Record the inputs of a path, its last statement first."""
        rest = list(inputs)
        for edge, symbols in reversed(path.inputs):
            numbers = [rest.pop() if modelled(s.sort) else 0 for s in reversed(symbols)]
            self.events.append(
                (edge, tuple(_value(s, n) for s, n in zip(symbols, reversed(numbers), strict=True)))
            )

    def _entered(self, goal: _Goal, by: Entered) -> list[_Goal] | None:
        """Return the call that entered the procedure whose entry the state is at."""
        binding = self.transitions.binding(by.edge).fixing({}, _numbered(goal.entry))
        point = by.before.relation.ending(binding).pair()
        return None if point is None else [_Goal(by.before, *point, inner=False)]

    def _returned(self, goal: _Goal, by: Returned, frame: Frame) -> list[_Goal] | None:
        binding = self.transitions.binding(by.edge)
        callee = self.transitions.frames[by.ended.vertex.procedure]
        sigma = lift(by.ended.relation, callee)
        same = self.transitions.relations.identity(len(frame.state))
        back = self.transitions.returning(by.edge).fixing({}, _numbered(goal.state))
        called = same.both(binding.then(sigma)).ending(back)
        point = called.starting(by.before.relation.fixing(_numbered(goal.entry), {})).pair()
        if point is None:
            return None
        state, ended = point[0], point[1][len(frame.state) :]
        entry = binding.fixing(_numbered(state), {}).ending(sigma.fixing({}, _numbered(ended))).pair()
        assert entry is not None
        exit_columns = {callee.state.index(x): n for x, n in zip(callee.exit, ended, strict=True)}
        inside = by.ended.relation.fixing(_numbered(entry[1]), exit_columns).pair()
        assert inside is not None
        return [_Goal(by.before, goal.entry, state, goal.inner), _Goal(by.ended, *inside, inner=True)]


def _numbered(vector: Sequence[int]) -> Mapping[int, int]:
    return dict(enumerate(vector))


def _value(variable: Expr, number: int) -> Value:
    return bool(number) if variable.sort is BOOL else number

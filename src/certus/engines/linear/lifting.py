"""Lift a path of a Linear Program to the program, and check whether it is an execution there.

The path to an error is read off the recorded steps of path edges, calls included. Its blocks are executed
symbolically and exactly. If a solver finds values for all inputs, they are a counterexample of the program;
if there are none, the path is spurious.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Trace
from certus.core.program import Call, Edge, Havoc, Program
from certus.core.solver import Answer
from certus.core.terms import ArraySort, Expr, Value
from certus.core.values import ArrayValue
from certus.core.walk import Substitution
from certus.encoding.block_formula import Instance, edge_formula
from certus.engines.linear.edges import Entered, Jumped, PathEdge, Returned, Start
from certus.solvers.portfolio import SolverPortfolio

Step = Edge | str  # an edge of the path, or the name of a procedure that returns
SHARE = 0.2  # of the remaining time, for one path


def path_to(error: PathEdge) -> list[Step] | None:
    """Return the steps of a path to an error, in order; None if a closure or widening is on it."""
    steps: list[Step] = []  # from last to first
    work: list[Step | tuple[PathEdge, bool]] = [(error, False)]
    while work:
        item = work.pop()
        if not isinstance(item, tuple):
            steps.append(item)
            continue
        at, inner = item  # inner: only from the entry of the procedure on
        by = at.by
        if isinstance(by, Jumped):
            return None
        if isinstance(by, Returned):
            steps.append(by.ended.vertex.procedure)
            work += [(by.before, inner), by.edge, (by.ended, True)]
        elif not (isinstance(by, Start) or (isinstance(by, Entered) and inner)):
            steps.append(by.edge)
            work.append((by.before, inner))
    steps.reverse()
    return steps


def lifted(steps: Sequence[Step], program: Program, budget: Budget, statistics: Statistics) -> Trace | None:
    """Return the path as an execution of the program; None if it is spurious or no solver decides that."""
    execution = _Execution(program)
    if not all(execution.step(step) for step in steps):
        return None
    solver = SolverPortfolio(statistics)
    solver.add(*execution.formulas)
    try:
        if solver.check(budget=budget.part(SHARE), purpose="lift") is not Answer.SAT:
            return None
    except BudgetExceeded:
        budget.check()
        return None
    last = steps[-1]
    assert isinstance(last, Edge)

    def value(term: Expr) -> Value:
        result = solver.value(term)
        assert not isinstance(result, ArrayValue), "inputs are scalars"
        return result

    inputs: dict[int, list[tuple[Value, ...]]] = {}
    for instance in execution.instances:
        for passage in instance.path(value):
            if isinstance(passage.edge.op, Havoc):
                inputs.setdefault(passage.edge.key, []).append(passage.inputs)
    initial = {x: value(x) for x in execution.open if not isinstance(x.sort, ArraySort)}
    return Trace(last.target.name, initial, {key: tuple(values) for key, values in inputs.items()})


class _Execution:
    """The symbolic execution of a path: values of globals and of the locals of each frame."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.open = [x for x in program.globals if x not in program.initial]
        self.formulas: list[Expr] = []
        self.instances: list[Instance] = []
        self._globals = dict(program.initial)
        self._frames: list[dict[Expr, Expr]] = []
        self._calls: list[Call] = []
        self._entered = 0
        self._enter(program.main)

    def step(self, step: Step) -> bool:
        """Execute one step; return False if that is never possible."""
        if isinstance(step, str):
            self._leave(step)
        elif isinstance(step.op, Call):
            arguments = Substitution(self._values()).apply_all(step.op.arguments)
            self._calls.append(step.op)
            self._enter(step.op.procedure)
            parameters = self.program.procedures[step.op.procedure].parameters
            self._frames[-1].update(zip(parameters, arguments, strict=True))
        else:
            block = edge_formula(step, self.program)
            if block is None:
                return False
            instance = block.instance(len(self.instances), self._values())
            self.formulas += [instance.guard, *instance.definitions]
            self.instances.append(instance)
            self._assign(instance.values)
        return True

    def _values(self) -> dict[Expr, Expr]:
        return {**self._globals, **self._frames[-1]}

    def _assign(self, values: Mapping[Expr, Expr]) -> None:
        for x, value in values.items():
            where = self._globals if x in self.program.globals else self._frames[-1]
            where[x] = value

    def _enter(self, name: str) -> None:
        own = self.program.procedures[name]
        names = dict.fromkeys((*own.parameters, *own.variables, *own.results))
        self._entered += 1
        self._frames.append({x: build.var(f"{x.name}@in{self._entered}", x.sort) for x in names})

    def _leave(self, name: str) -> None:
        ended, call = self._frames.pop(), self._calls.pop()
        results = self.program.procedures[name].results
        self._assign({x: ended[result] for x, result in zip(call.targets, results, strict=True)})

"""Complete a trace with missing inputs, so that it replays on the original program.

A trace lacks the inputs that slicing removed, and replay uses 0 for them. Reaching the error does not depend
on their values, but other operations on the path may: 0 may be a divisor, or the size of an object that is
written to. Then the run is executed symbolically (`path_replay`) along its path to the place where it
stopped, and a solver finds values that take the same path and pass this place. The run continues with these
values, perhaps to the next such place. Inputs of the trace stay as they are, unless they decide whether the
operation at the place is defined: engines assume that accesses to memory are valid.

A trace also lacks the first contents of objects that engines represent as arrays. If the run ends elsewhere,
some decision that depends on such contents must be different. The last one that can differ is changed first,
earlier ones after all that follow, as in a depth-first search.

A completed trace is not trusted: it is evidence only if it replays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from certus.check.replay.path_replay import Key, PathRecorder, SymbolicPath
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.effects import uses_memory
from certus.core.evidence import Trace
from certus.core.program import Alloc, Havoc, Program
from certus.core.solver import Answer
from certus.core.terms import INT, Expr, MachineSort, Value
from certus.core.values import Datum
from certus.core.walk import substitute_all, variables
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import Contents, TraceInputs
from certus.interpreter.interpreter import Ending, Run, run
from certus.solvers.portfolio import SolverPortfolio

ROUNDS: Final = 12  # places passed and decisions changed
STEPS: Final = 20_000  # of a run that is executed symbolically
SMALL: Final = 1000  # the preferred maximum of inputs
SHARE: Final = 0.3  # of the remaining time

Chosen = dict[Key, tuple[Value, ...]]  # values of inputs; for an `Alloc` edge the bytes of its object


def complete(program: Program, trace: Trace, *, budget: Budget, statistics: Statistics) -> Trace | None:
    """Return the trace with inputs added so that it leads to its error; None if the search fails."""
    budget = budget.part(SHARE)
    compiled = compile_program(program)
    chosen: Chosen | None = {}
    changed: set[int] = set()  # decisions, by the path to them
    for _ in range(ROUNDS):
        if chosen is None:
            break
        inputs = _Inputs(program, trace, chosen)
        path = PathRecorder(compiled.everywhere)
        end = run(compiled, inputs, step_limit=STEPS, budget=budget, observer=path)
        if end.ending is Ending.ERROR and end.location.name == trace.error:
            return inputs.completed()
        search = _Search(inputs, path, budget, statistics)
        stopped = end.ending in (Ending.UNDEFINED, Ending.BLOCKED)
        chosen = search.passing(end) if stopped else search.deciding(changed)
    return None


class _Inputs:
    """The inputs of a trace, completed or replaced by `chosen` values. `asked` are the inputs that a run
    used, with their values; `in_trace` are those that the trace has."""

    def __init__(self, program: Program, trace: Trace, chosen: Chosen) -> None:
        self.program = program
        self.asked: dict[Key, tuple[tuple[Expr, ...], tuple[Value, ...]]] = {}
        self.in_trace: set[Key] = set()
        self.chosen = chosen
        self._trace = trace
        self._values = TraceInputs(program, trace)
        edges, memory = program.edge.items(), uses_memory(program)
        havocs = [(n, e.op) for n, e in edges if isinstance(e.op, Havoc)]
        # A nondeterministic pointer points to no object of the program: do not choose an address for it.
        self._fixed = {
            n for n, op in havocs if op.approximates or (memory and any(t.sort is INT for t in op.targets))
        }

    @property
    def objects(self) -> Contents:
        """The contents that the trace gives to new objects."""
        return self._values.objects

    @property
    def contents(self) -> Contents:
        return {**self.objects, **self._chosen_objects()}

    def _chosen_objects(self) -> Contents:
        objects: dict[int, dict[int, bytes]] = {}
        for key, values in self.chosen.items():
            if isinstance(key, tuple) and isinstance(self.program.edge[key[0]].op, Alloc):
                objects.setdefault(key[0], {})[key[1]] = bytes(map(int, values))
        return {edge: tuple(each.get(n, b"") for n in range(1 + max(each))) for edge, each in objects.items()}

    def initial(self, variable: Expr) -> Datum:
        (value,) = self._take(variable, (variable,), (self._values.initial(variable),))
        if variable in self._trace.initial:
            self.in_trace.add(variable)
        return value

    def local(self, variable: Expr) -> Datum:
        return self._values.local(variable)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = self._values.havoc(edge, occurrence, targets)
        if edge in self._fixed:
            return values
        if occurrence < len(self._trace.inputs.get(edge, ())):
            self.in_trace.add((edge, occurrence))
        return self._take((edge, occurrence), tuple(targets), values)

    def _take(self, key: Key, targets: tuple[Expr, ...], default: tuple[Datum, ...]) -> tuple[Datum, ...]:
        values = self.chosen.get(key, default)
        scalars = tuple(value for value in values if isinstance(value, Value))
        if len(scalars) == len(values):
            self.asked[key] = (targets, scalars)
        return values

    def completed(self) -> Trace:
        """Return the trace with all inputs that the run used."""
        initial: dict[Expr, Value] = dict(self._trace.initial)
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for key, (_, values) in self.asked.items():
            if isinstance(key, Expr):
                initial[key] = values[0]
            else:
                inputs.setdefault(key[0], []).append(values)
        used = {edge: tuple(executions) for edge, executions in inputs.items()}
        objects = {edge: tuple(map(tuple, contents)) for edge, contents in self._chosen_objects().items()}
        return replace(self._trace, initial=initial, inputs={**self._trace.inputs, **used, **objects})


class _Search:
    """A search for other values of missing inputs along the path of a run."""

    def __init__(self, inputs: _Inputs, path: PathRecorder, budget: Budget, statistics: Statistics) -> None:
        self.inputs = inputs
        self.budget = budget
        self.statistics = statistics
        self.path = SymbolicPath(inputs.program, inputs.asked, inputs.objects)
        for event in path.events:
            self.path.step(event)
        symbols = self.path.symbols.items()
        self.in_trace = [s for key, symbols in symbols if key in inputs.in_trace for s in symbols]

    def passing(self, end: Run) -> Chosen | None:
        """Return values with which the path continues where the run stopped."""
        path = self.path
        edges = [end.edge] if end.ending is Ending.UNDEFINED and end.edge is not None else []
        if not edges:
            edges = [*path.program.procedures[end.location.procedure].successors[end.location]]
        goal = build.disjunction(build.conjunction((*path.defined(e.op), *path.enabled(e.op))) for e in edges)
        here = frozenset(variables(goal))
        for kept in (self.in_trace, [symbol for symbol in self.in_trace if symbol not in here]):
            values = self._values((*path.conditions, goal), kept)
            if values is not None:
                return values
        return None

    def deciding(self, changed: set[int]) -> Chosen | None:
        """Return values that reverse the last decision that depends on contents, is not `changed` yet, and
        can be different."""
        for branch in reversed(self.path.branches):
            if branch.path not in changed:
                changed.add(branch.path)
                conditions = (*self.path.conditions[: branch.before], build.not_(branch.condition))
                values = self._values(conditions, self.in_trace)
                if values is not None:
                    return values
        return None

    def _values(self, conditions: Iterable[Expr], kept: Iterable[Expr]) -> Chosen | None:
        """Return values of all symbols that satisfy the conditions, with the `kept` ones unchanged."""
        present = self.path.present
        same = {s: build.constant(present[s], s.sort) for s in kept}
        free = [s for s in present if s not in same]
        solver = SolverPortfolio(self.statistics)
        solver.add(*substitute_all(tuple(conditions), same))
        for wanted in ([_small(s) for s in free], []):
            if free and solver.check(wanted, budget=self.budget, purpose="completion") is Answer.SAT:
                values = zip(free, solver.values(free), strict=True)
                return self._chosen({**present, **{s: v for s, v in values if isinstance(v, Value)}})
        self.budget.check()
        return None

    def _chosen(self, values: Mapping[Expr, Value]) -> Chosen:
        inputs = {key: tuple(values[s] for s in symbols) for key, symbols in self.path.symbols.items()}
        objects: dict[Key, bytearray] = {}
        for symbol, at in self.path.contents.items():
            key = (at.edge, at.occurrence)
            data = objects.setdefault(key, bytearray(map(int, self.inputs.chosen.get(key, ()))))
            end = at.offset + at.width
            data.extend(bytes(max(end - len(data), 0)))
            data[at.offset : end] = (int(values[symbol]) % (1 << 8 * at.width)).to_bytes(at.width, "little")
        return {**inputs, **{key: tuple(data) for key, data in objects.items()}}


def _small(symbol: Expr) -> Expr:
    """Return the condition that a number is between 0 and SMALL, as sizes of objects should be."""
    sort = symbol.sort
    if sort is not INT and not (isinstance(sort, MachineSort) and sort.high >= SMALL):
        return build.TRUE
    low, high = build.constant(0, symbol.sort), build.constant(SMALL, symbol.sort)
    return build.and_(build.le(low, symbol), build.le(symbol, high))

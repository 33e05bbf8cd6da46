"""Completing a trace on the original program.

A trace lacks the inputs that slicing found irrelevant, and replay takes 0 for them. Reaching the error does
not depend on their values, but what is executed on the way may: 0 may be a divisor, or the size of an object
that is written to. Then the run is followed symbolically (`pipeline.following`) along the path it took to
where it stopped, and a solver is asked for values that take the same path and pass this place; with them the
run goes on, perhaps to the next such place. Inputs that the trace gives stay as they are, unless they decide
what happens at the place itself: engines take accesses to memory for valid, so these may be in the way too.

A trace also lacks what objects contained at first, where engines keep them in arrays. If the run ends
elsewhere, a decision that such contents have a part in must have been another one: the last that can be is
made so, and those before it after all that follow, as in a search in depth.

So a completed trace is a guess like any other: it counts only if it replays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.evidence import Trace
from certus.core.memory import uses_memory
from certus.core.program import Alloc, Havoc, Program
from certus.core.sorts import INT, MachineSort
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Value
from certus.core.values import Datum
from certus.core.walk import substitute_all, variables
from certus.logic.patient import PatientSolver
from certus.logic.solver import Answer
from certus.pipeline.following import Followed, Key, Path
from certus.validate.compile import compile_program
from certus.validate.inputs import Contents, TraceInputs
from certus.validate.interpreter import Ending, Run, run

ROUNDS: Final = 12  # places passed and decisions changed, one after the other
STEPS: Final = 20_000  # of a run that is followed
SMALL: Final = 1000  # inputs are to be at most this, if that is possible
SHARE: Final = 0.3  # of the time that is left, for all of it

Filled = dict[Key, tuple[Value, ...]]  # the bytes of an object for an `Alloc` edge


def complete(program: Program, trace: Trace, *, budget: Budget, statistics: Statistics) -> Trace | None:
    """The trace with inputs added so that it leads to its error; None if none were found."""
    budget = budget.part(SHARE)
    compiled = compile_program(program)
    filled: Filled = {}
    changed: set[int] = set()  # decisions, each by the way to it
    for _ in range(ROUNDS):
        inputs = _Inputs(program, trace, filled)
        path = Path(compiled.everywhere)
        end = run(compiled, inputs, step_limit=STEPS, budget=budget, observer=path)
        if end.ending is Ending.ERROR and end.location.name == trace.error:
            return inputs.completed()
        search = _Search(inputs, path, budget, statistics)
        if end.ending in (Ending.UNDEFINED, Ending.BLOCKED):
            found = search.passing(end)
        else:
            found = search.deciding(changed)
        if found is None:
            return None
        filled = found
    return None


class _Inputs:
    """The inputs of a trace with those it lacks, or that are to be others, `filled` in. `asked` tells which
    inputs a run took, with their values, and `given` which of them the trace has."""

    def __init__(self, program: Program, trace: Trace, filled: Filled) -> None:
        self.program = program
        self.asked: dict[Key, tuple[tuple[Expr, ...], tuple[Value, ...]]] = {}
        self.given: set[Key] = set()
        self.filled = filled
        self._trace = trace
        self._given = TraceInputs(program, trace)
        edges, memory = program.edge.items(), uses_memory(program)
        havocs = [(n, e.op) for n, e in edges if isinstance(e.op, Havoc)]
        # A pointer from nowhere points to no object of the program: its value is not to be made an address.
        self._fixed = {
            n for n, op in havocs if op.approximates or (memory and any(t.sort is INT for t in op.targets))
        }

    @property
    def objects(self) -> Contents:
        """What the trace says of new objects."""
        return self._given.objects

    @property
    def contents(self) -> Contents:
        return {**self.objects, **self._filled_objects()}

    def _filled_objects(self) -> Contents:
        made: dict[int, dict[int, bytes]] = {}
        for key, values in self.filled.items():
            if isinstance(key, tuple) and isinstance(self.program.edge[key[0]].op, Alloc):
                made.setdefault(key[0], {})[key[1]] = bytes(map(int, values))
        return {edge: tuple(found.get(n, b"") for n in range(1 + max(found))) for edge, found in made.items()}

    def initial(self, variable: Expr) -> Datum:
        (value,) = self._take(variable, (variable,), (self._given.initial(variable),))
        if variable in self._trace.initial:
            self.given.add(variable)
        return value

    def local(self, variable: Expr) -> Datum:
        return self._given.local(variable)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = self._given.havoc(edge, occurrence, targets)
        if edge in self._fixed:
            return values
        if occurrence < len(self._trace.inputs.get(edge, ())):
            self.given.add((edge, occurrence))
        return self._take((edge, occurrence), tuple(targets), values)

    def _take(self, key: Key, targets: tuple[Expr, ...], default: tuple[Datum, ...]) -> tuple[Datum, ...]:
        values = self.filled.get(key, default)
        scalars = tuple(value for value in values if isinstance(value, Value))
        if len(scalars) == len(values):
            self.asked[key] = (targets, scalars)
        return values

    def completed(self) -> Trace:
        initial: dict[Expr, Value] = dict(self._trace.initial)
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for key, (_, values) in self.asked.items():
            if isinstance(key, Expr):
                initial[key] = values[0]
            else:
                inputs.setdefault(key[0], []).append(values)
        found = {edge: tuple(executions) for edge, executions in inputs.items()}
        objects = {edge: tuple(map(tuple, made)) for edge, made in self._filled_objects().items()}
        return replace(self._trace, initial=initial, inputs={**self._trace.inputs, **found, **objects})


class _Search:
    """Other values for what a run was not given, found along the path that it took."""

    def __init__(self, inputs: _Inputs, path: Path, budget: Budget, statistics: Statistics) -> None:
        self.inputs = inputs
        self.budget = budget
        self.statistics = statistics
        self.followed = Followed(inputs.program, inputs.asked, inputs.objects)
        for event in path.events:
            self.followed.step(event)
        symbols = self.followed.symbols.items()
        self.given = [s for key, symbols in symbols if key in inputs.given for s in symbols]

    def passing(self, end: Run) -> Filled | None:
        """Values with which the path can go on where the run had to stop."""
        followed = self.followed
        edges = [end.edge] if end.ending is Ending.UNDEFINED and end.edge is not None else []
        if not edges:
            edges = [*followed.program.procedures[end.location.procedure].successors[end.location]]
        ways = [build.conjunction((*followed.defined(e.op), *followed.enabled(e.op))) for e in edges]
        goal = build.disjunction(ways)
        here = frozenset(variables(goal))
        for kept in (self.given, [symbol for symbol in self.given if symbol not in here]):
            found = self._values((*followed.conditions, goal), kept)
            if found is not None:
                return found
        return None

    def deciding(self, changed: set[int]) -> Filled | None:
        """Values with which the last decision that contents have a part in, and that can be another and is
        not `changed` yet, is another."""
        for branch in reversed(self.followed.branches):
            if branch.way not in changed:
                changed.add(branch.way)
                conditions = (*self.followed.conditions[: branch.before], build.not_(branch.condition))
                found = self._values(conditions, self.given)
                if found is not None:
                    return found
        return None

    def _values(self, conditions: Iterable[Expr], kept: Iterable[Expr]) -> Filled | None:
        """Values for all symbols that meet the conditions, the `kept` ones as they are."""
        present = self.followed.present
        same = {s: build.constant(present[s], s.sort) for s in kept}
        free = [s for s in present if s not in same]
        solver = PatientSolver(self.statistics)
        solver.add(*substitute_all(tuple(conditions), same))
        for wanted in ([_small(s) for s in free], []):
            if free and solver.check(wanted, budget=self.budget, purpose="completion") is Answer.SAT:
                values = zip(free, solver.values(free), strict=True)
                return self._filled({**present, **{s: v for s, v in values if isinstance(v, Value)}})
        self.budget.check()
        return None

    def _filled(self, chosen: Mapping[Expr, Value]) -> Filled:
        found = {key: tuple(chosen[s] for s in symbols) for key, symbols in self.followed.symbols.items()}
        objects: dict[Key, bytearray] = {}
        for symbol, at in self.followed.contents.items():
            key = (at.edge, at.occurrence)
            data = objects.setdefault(key, bytearray(map(int, self.inputs.filled.get(key, ()))))
            end = at.offset + at.width
            data.extend(bytes(max(end - len(data), 0)))
            data[at.offset : end] = (int(chosen[symbol]) % (1 << 8 * at.width)).to_bytes(at.width, "little")
        return {**found, **{key: tuple(data) for key, data in objects.items()}}


def _small(symbol: Expr) -> Expr:
    """That a number is at most SMALL: sizes of objects should be."""
    sort = symbol.sort
    if sort is not INT and not (isinstance(sort, MachineSort) and sort.high >= SMALL):
        return build.TRUE
    low, high = build.constant(0, symbol.sort), build.constant(SMALL, symbol.sort)
    return build.and_(build.le(low, symbol), build.le(symbol, high))

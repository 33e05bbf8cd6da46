"""Completing a trace on the original program.

A trace lacks the inputs that slicing found irrelevant, and replay takes 0 for them. Reaching the error does
not depend on their values, but what is executed on the way may: 0 may be a divisor, or the size of an object
that is written to. Then the run is followed symbolically, with inputs as unknowns, along the path it took to
where it stopped, and a solver is asked for values that take the same path and pass this place; with them the
run goes on, perhaps to the next such place. Inputs that the trace gives stay as they are, unless they decide
what happens at the place itself: engines take accesses to memory for valid, so these may be in the way too.

Addresses stay as they were in the run, and contents of memory that no executed store explains are taken as
they were read. So a completed trace is a guess like any other: it counts only if it replays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.effects import terms, written
from certus.core.evaluate import evaluate
from certus.core.evidence import Trace
from certus.core.memory import uses_memory
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    Havoc,
    Load,
    Location,
    Op,
    Procedure,
    Program,
    Return,
    Store,
)
from certus.core.sorts import INT, MachineSort
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Kind, Value
from certus.core.values import Datum
from certus.core.walk import postorder, substitute_all, variables
from certus.logic.patient import PatientSolver
from certus.logic.solver import Answer
from certus.validate.compile import compile_program
from certus.validate.inputs import TraceInputs
from certus.validate.interpreter import Ending, Machine, Run, run

ROUNDS: Final = 12  # places passed, one after the other
STEPS: Final = 20_000  # of a run that is followed
SMALL: Final = 1000  # inputs are to be at most this, if that is possible
SHARE: Final = 0.3  # of the time that is left, for all of it

Key = tuple[int, int] | Expr  # a Havoc edge and which execution of it, or a global at the start
_DIVISIONS: Final = frozenset({Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD})
_SHIFTS: Final = frozenset({Kind.SHL, Kind.SHR})


def complete(program: Program, trace: Trace, *, budget: Budget, statistics: Statistics) -> Trace | None:
    """The trace with inputs added so that it leads to its error; None if none were found."""
    budget = budget.part(SHARE)
    compiled = compile_program(program)
    filled: dict[Key, tuple[Value, ...]] = {}
    for _ in range(ROUNDS):
        inputs = _Inputs(program, trace, filled)
        path = _Path(compiled.everywhere)
        end = run(compiled, inputs, step_limit=STEPS, budget=budget, observer=path)
        if end.ending is Ending.ERROR and end.location.name == trace.error:
            return inputs.completed()
        if end.ending not in (Ending.UNDEFINED, Ending.BLOCKED) or not inputs.asked:
            return None
        found = _values(program, path, end, inputs, budget, statistics)
        if found is None:
            return None
        filled = found
    return None


class _Inputs:
    """The inputs of a trace with those it lacks, or that are to be others, `filled` in. `asked` tells which
    inputs a run took, with their values, and `given` which of them the trace has."""

    def __init__(self, program: Program, trace: Trace, filled: Mapping[Key, tuple[Value, ...]]) -> None:
        self.asked: dict[Key, tuple[tuple[Expr, ...], tuple[Value, ...]]] = {}
        self.given: set[Key] = set()
        self._filled = filled
        self._trace = trace
        self._given = TraceInputs(program, trace)
        self.contents = self._given.objects
        edges, memory = program.edge.items(), uses_memory(program)
        havocs = [(n, e.op) for n, e in edges if isinstance(e.op, Havoc)]
        # A pointer from nowhere points to no object of the program: its value is not to be made an address.
        self._fixed = {
            n for n, op in havocs if op.approximates or (memory and any(t.sort is INT for t in op.targets))
        }

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
        values = self._filled.get(key, default)
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
        return replace(self._trace, initial=initial, inputs={**self._trace.inputs, **found})


@dataclass(slots=True)
class _Event:
    """A step of a run: an edge that is no call, or a call entered or left. `seen` are the values that it gave
    its targets."""

    what: str
    edge: Edge
    seen: Mapping[Expr, Datum]


@dataclass(slots=True)
class _Path:
    """Writes down the path of a run."""

    watched: frozenset[Location]
    events: list[_Event] = field(default_factory=list)

    def start(self, machine: Machine) -> None:
        """Nothing has happened yet."""

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if edge is not None and not isinstance(edge.op, Call):
            targets = edge.op.targets if isinstance(edge.op, Havoc) else _target(edge.op)
            self.events.append(_Event("step", edge, {x: machine.value(x) for x in targets}))

    def enter(self, machine: Machine, edge: Edge) -> None:
        self.events.append(_Event("enter", edge, {}))

    def leave(self, machine: Machine, edge: Edge) -> None:
        self.events.append(_Event("leave", edge, {}))


def _target(op: Op) -> tuple[Expr, ...]:
    return (op.target,) if isinstance(op, Load | Alloc) else ()


def _values(
    program: Program, path: _Path, end: Run, inputs: _Inputs, budget: Budget, statistics: Statistics
) -> dict[Key, tuple[Value, ...]] | None:
    """Other values for the missing inputs, with which the path to the end of the run can go on."""
    followed = _Followed(program, inputs)
    for event in path.events:
        followed.step(event)
    edges = [end.edge] if end.ending is Ending.UNDEFINED and end.edge is not None else []
    if not edges:
        edges = [*program.procedures[end.location.procedure].successors[end.location]]
    ways = [build.conjunction((*followed.defined(e.op), *followed.enabled(e.op))) for e in edges]
    goal = build.disjunction(ways)
    given = [s for key, symbols in followed.symbols.items() if key in inputs.given for s in symbols]
    here = frozenset(variables(goal))
    for kept in (given, [symbol for symbol in given if symbol not in here]):
        same = {s: build.constant(followed.present[s], s.sort) for s in kept}
        free = [s for s in followed.present if s not in same]
        solver = PatientSolver(statistics)
        solver.add(*substitute_all((*followed.conditions, goal), same))
        for wanted in ([_small(s) for s in free], []):
            if solver.check(wanted, budget=budget, purpose="completion") is Answer.SAT:
                values = zip(free, solver.values(free), strict=True)
                chosen = {**followed.present, **{s: v for s, v in values if isinstance(v, Value)}}
                return {key: tuple(chosen[s] for s in symbols) for key, symbols in followed.symbols.items()}
        budget.check()
    return None


def _small(symbol: Expr) -> Expr:
    """That a number is at most SMALL: sizes of objects should be."""
    sort = symbol.sort
    if sort is not INT and not (isinstance(sort, MachineSort) and sort.high >= SMALL):
        return build.TRUE
    low, high = build.constant(0, symbol.sort), build.constant(SMALL, symbol.sort)
    return build.and_(build.le(low, symbol), build.le(symbol, high))


class _Followed:
    """The symbolic state at the end of a path: the values of variables and of stored cells as terms over
    symbols for the inputs, and the `conditions` under which the path is taken."""

    def __init__(self, program: Program, inputs: _Inputs) -> None:
        self.program = program
        self.conditions: list[Expr] = []
        self.symbols: dict[Key, tuple[Expr, ...]] = {}
        self.present: dict[Expr, Value] = {}  # the value of each symbol in the run
        for key, (targets, values) in inputs.asked.items():
            made = tuple(build.var(f"@{len(self.symbols)}.{n}", t.sort) for n, t in enumerate(targets))
            self.symbols[key] = made
            self.present.update(zip(made, values, strict=True))
        self._shared: dict[Expr, Expr] = dict(program.initial)
        self._shared.update((x, s[0]) for x, s in self.symbols.items() if isinstance(x, Expr))
        self._frames: list[dict[Expr, Expr]] = [{}]
        self._cells: dict[tuple[int, MachineSort], Expr] = {}
        self._objects: list[tuple[int, Expr]] = []  # where it starts, its size
        self._executions: dict[int, int] = {}

    # ---------------------------------------------------------------------------------- steps

    def step(self, event: _Event) -> None:
        op = event.edge.op
        if event.what == "leave":
            self._leave(event.edge)
            return
        for condition in (*self.defined(op, pinned=True), *self.enabled(op)):
            if condition is not build.TRUE:
                self.conditions.append(condition)
        values = self._terms(op)
        if isinstance(op, Call):
            callee = self.program.procedures[op.procedure]
            self._frames.append(dict(zip(callee.parameters, values, strict=True)))
            return
        procedure = self.program.procedures[event.edge.source.procedure]
        if isinstance(op, Assign | Return):
            for x, value in zip(written(op, procedure), values, strict=True):
                self._write(procedure, x, value)
        elif isinstance(op, Havoc):
            self._havoc(event.edge, op, procedure, event.seen)
        elif isinstance(op, Alloc):
            start = event.seen[op.target]
            self._write_seen(procedure, op.target, start)
            if isinstance(start, int):
                self._objects.append((start, values[0]))
        elif isinstance(op, Load):
            self._load(op, procedure, values[0], event.seen[op.target])
        elif isinstance(op, Store):
            self._store(values[0], values[1])

    def _leave(self, edge: Edge) -> None:
        assert isinstance(edge.op, Call)
        inner = self._frames.pop()
        callee = self.program.procedures[edge.op.procedure]
        procedure = self.program.procedures[edge.source.procedure]
        for target, result in zip(edge.op.targets, callee.results, strict=False):
            if result in inner:
                self._write(procedure, target, inner[result])

    def _havoc(self, edge: Edge, op: Havoc, procedure: Procedure, seen: Mapping[Expr, Datum]) -> None:
        occurrence = self._executions.get(edge.index, 0)
        self._executions[edge.index] = occurrence + 1
        symbols = self.symbols.get((edge.index, occurrence))
        for n, x in enumerate(op.targets):
            if symbols is None:
                self._write_seen(procedure, x, seen[x])
            else:
                self._write(procedure, x, symbols[n])

    def _load(self, op: Load, procedure: Procedure, address: Expr, seen: Datum) -> None:
        sort = op.target.sort
        place = self._number(address)
        cell = self._cells.get((place, sort)) if place is not None and isinstance(sort, MachineSort) else None
        if cell is None:
            self._write_seen(procedure, op.target, seen)
        else:
            self._write(procedure, op.target, cell)

    def _store(self, address: Expr, value: Expr) -> None:
        place = self._number(address)
        if place is not None and isinstance(value.sort, MachineSort):
            self._cells[place, value.sort] = value

    def _write(self, procedure: Procedure, x: Expr, value: Expr) -> None:
        (self._frames[-1] if x in procedure.variables else self._shared)[x] = value

    def _write_seen(self, procedure: Procedure, x: Expr, value: Datum) -> None:
        """A value that is taken as it was in the run."""
        if isinstance(value, Value):
            self._write(procedure, x, build.constant(value, x.sort))
        else:
            (self._frames[-1] if x in procedure.variables else self._shared).pop(x, None)

    # --------------------------------------------------------------------------------- conditions

    def enabled(self, op: Op) -> Iterator[Expr]:
        """Under which condition a step is taken."""
        if isinstance(op, Assume):
            (condition,) = self._terms(op)
            if self._known(condition):
                yield condition

    def defined(self, op: Op, *, pinned: bool = False) -> Iterator[Expr]:
        """Under which conditions an op does nothing undefined; if `pinned`, at the address of the run."""
        values = [value for value in self._terms(op) if self._known(value)]
        for term in postorder(*values):
            if term.kind in _DIVISIONS and term.args[1].kind is not Kind.CONST:
                yield build.ne(term.args[1], build.constant(0, term.args[1].sort))
            elif term.kind in _SHIFTS and isinstance(term.sort, MachineSort):
                amount, width = term.args[1], build.constant(term.sort.width, term.sort)
                yield build.and_(build.le(build.constant(0, term.sort), amount), build.lt(amount, width))
        if isinstance(op, Load | Store) and values:
            address = values[0]
            sort = op.target.sort if isinstance(op, Load) else op.value.sort
            assert isinstance(sort, MachineSort)
            yield self._inside(address, sort.width // 8)
            place = self._number(address)
            if pinned and place is not None:
                yield build.eq(address, build.integer(place))

    def _inside(self, address: Expr, width: int) -> Expr:
        """An access lies in an object: in the last that starts at or below the address, if that is known."""
        objects = self._objects
        if address.kind is Kind.CONST:
            below = [found for found in objects if found[0] <= int(address.value)]
            objects = [max(below, key=lambda found: found[0])] if below else []
        last = build.add(address, build.integer(width))
        return build.disjunction(
            build.and_(
                build.le(build.integer(start), address), build.le(last, build.add(build.integer(start), size))
            )
            for start, size in objects
        )

    # ------------------------------------------------------------------------------------- terms

    def _terms(self, op: Op) -> tuple[Expr, ...]:
        given = terms(op)
        here = self._frames[-1]
        known = {x: here.get(x) or self._shared.get(x) for x in variables(*given)}
        return substitute_all(given, {x: value for x, value in known.items() if value is not None})

    def _known(self, value: Expr) -> bool:
        """Whether a term is one over symbols only."""
        return all(x in self.present for x in variables(value))

    def _number(self, address: Expr) -> int | None:
        """An address as it was in the run."""
        if not self._known(address):
            return None
        found = evaluate(address, self.present)
        return found if isinstance(found, int) else None

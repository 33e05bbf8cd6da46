"""Explore what inputs can do by running the program, breadth first.

In each state in which the program reads an input, runs continue with each of a few values: 0, 1, and the
numbers that the program compares the input with, or else its first constants. A state that was met before is
not explored again. Programs that react to inputs, as protocols and controllers do, have few such states, so
that errors many inputs deep are reached within milliseconds; where there are many, the effort is limited.
Before, a few long runs try inputs that do not change (`long_runs`).

A run that reaches an error is a trace, which is replayed like any other. If all states are explored and none
leads to an error, there may be no others. The states at loop heads are then a candidate proof, which is
checked like any other, since values that were not tried could lead to further states.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, cast

from certus.core.accounting import Budget
from certus.core.effects import copies, terms
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Inductive, Trace
from certus.core.floats import FORMATS, from_integer
from certus.core.loops import loop_forest
from certus.core.program import UNSPECIFIED, Edge, Havoc, Location, Program
from certus.core.terms import BOOL, INT, Expr, Kind, MachineSort, Sort, Value
from certus.core.values import Datum
from certus.core.walk import postorder
from certus.engines.search.long_runs import long_error
from certus.engines.search.states import State, States
from certus.interpreter.compile import Compiled
from certus.interpreter.indeterminate import Fault
from certus.interpreter.inputs import TraceInputs, constants
from certus.interpreter.interpreter import Ending, Machine, Observer, Run, Snapshot

EFFORT: Final = 5_000_000  # steps in all
BEGIN: Final = 60  # the cost of restoring a state, in steps, and again for each object in memory
STEPS: Final = 20_000  # from one input to the next
VALUES: Final = 16  # tried for one input
STATES: Final = 20_000
ARRIVALS: Final = 100_000  # at loop heads, in the runs that a proof consists of
_COMPARISONS: Final = frozenset({Kind.EQ, Kind.LE, Kind.LT, Kind.F_EQ, Kind.F_LE, Kind.F_LT})
_CASTS: Final = frozenset({Kind.WRAP, Kind.TO_INT})

Input = tuple[int, tuple[Value, ...]]  # an edge, and the values that were read there


def explore(compiled: Compiled, budget: Budget) -> Trace | Inductive | None:
    """Return a trace to an error, with the fewest inputs among the values tried, or a candidate proof that
    there is none."""
    try:
        return (
            long_error(compiled, candidates(compiled.program), budget) or _Exploration(compiled, budget).run()
        )
    except BudgetExceeded:
        return None


class _AtInput(Exception):
    """The program is about to read an input."""


class _Watch(Observer):
    """Observer that ends a run at the next input, and records the states at `heads` on the way."""

    def __init__(self, inputs: frozenset[Location], heads: frozenset[Location], states: States) -> None:
        self.watched = inputs | heads
        self.passed: dict[State, None] = {}
        self._inputs = inputs
        self._heads = heads
        self._states = states
        self._left = ARRIVALS

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        self.record(machine)
        if machine.location in self._inputs:
            raise _AtInput

    def record(self, machine: Machine) -> None:
        """Record the state if the machine is at a head."""
        if machine.location in self._heads:
            self._left -= 1
            snapshot = machine.snapshot()
            if snapshot is None or self._left < 0:
                raise BudgetExceeded("states")
            try:
                self.passed[self._states.of(snapshot)] = None
            except Fault as fault:  # a value of the state is indeterminate
                raise BudgetExceeded("states") from fault


class _Choices(TraceInputs):
    """Supplies the value with the number `number` among those to try; `input` is what was read, and `more`
    tells whether further values are to be tried."""

    contents: Mapping[int, tuple[bytes, ...]] = {}  # new objects are zero

    def __init__(self, program: Program) -> None:
        super().__init__(program, Trace(""))
        self._values = candidates(program)
        self.number, self.more = 0, False
        self.input: Input | None = None

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        rest = super().havoc(edge, occurrence, targets)
        values = self._values.get(edge)
        if values is None:
            return rest
        self.more = self.number + 1 < len(values)
        supplied = (values[self.number], *rest[1:])
        self.input = (edge, cast(tuple[Value, ...], supplied))
        return supplied


class _Exploration:
    """The states at inputs. `seen` maps each to the state and the input that led to it; `waiting` are to be
    explored, `explored` were. `complete`: whether every run so far came to an input or to an end."""

    def __init__(self, compiled: Compiled, budget: Budget) -> None:
        program = compiled.program
        self.compiled = compiled
        self.choices = _Choices(program)
        self.states = States(compiled)
        self.inputs = frozenset(e.source for e in program.edge.values() if _is_input(e))
        self.machine = Machine(compiled, self.choices)
        self.budget = budget
        self._watch_heads(frozenset())
        self.seen: dict[State, tuple[State, Input] | None] = {}
        self.waiting: deque[tuple[State, Snapshot]] = deque()
        self.explored: list[Snapshot] = []
        # The values tried for a floating-point number say nothing about the others.
        self.complete = not any(_reads_float(program, edge) for edge in program.edge.values())

    def _watch_heads(self, heads: frozenset[Location]) -> None:
        self.watch = _Watch(self.inputs, heads, self.states)
        self.code = self.compiled.code(self.watch.watched)
        self.code.require(self.compiled.program.main)

    def run(self) -> Trace | Inductive | None:
        if not self.inputs:
            return None
        start = self.machine.snapshot()
        if self.machine.location not in self.inputs and self._advance() is not None:
            return None  # the program ends before it reads an input
        self._arrived()
        effort = EFFORT
        while self.waiting and effort > 0 and len(self.seen) < STATES:
            state, snapshot = self.waiting.popleft()
            self.explored.append(snapshot)
            begin = BEGIN * (1 + len(snapshot[-1]))
            for end in self._tried(snapshot):
                effort -= begin + self.machine.steps
                supplied = self.choices.input
                if supplied is None:
                    continue
                if end is None:
                    self._arrived((state, supplied))
                elif end.ending is Ending.ERROR:
                    return self._trace(end.location.name, (state, supplied))
                else:
                    self.complete &= end.ending in (Ending.EXIT, Ending.BLOCKED)
        if self.waiting or not self.complete or not self.states.scalar or start is None:
            return None
        return self._proof(start)

    def _proof(self, start: Snapshot) -> Inductive:
        """Repeat all runs and return the states at loop heads as a proof."""
        procedures = self.compiled.program.procedures.values()
        self._watch_heads(frozenset(head for p in procedures for head in loop_forest(p).heads))
        self.machine.restore(start)
        self.watch.record(self.machine)
        if self.machine.location not in self.inputs:
            self._advance()
        for snapshot in self.explored:
            for _ in self._tried(snapshot):
                self.budget.check()
        return self.states.proof(self.watch.passed)

    def _arrived(self, origin: tuple[State, Input] | None = None) -> None:
        """Queue the present state, if it is new."""
        snapshot = self.machine.snapshot()
        if snapshot is None:
            self.complete = False
            return
        try:
            state = self.states.of(snapshot)
            if state not in self.seen:
                self.seen[state] = origin
                self.waiting.append((state, snapshot))
        except Fault:  # a value of the state is indeterminate
            self.complete = False

    def _tried(self, state: Snapshot) -> Iterator[Run | None]:
        """Run from a state with each value of its input; yield how each run ends: None at the next input."""
        choices = self.choices
        choices.number, choices.more = 0, True
        while choices.more:
            self.machine.restore(state)
            choices.more, choices.input = False, None
            yield self._advance()
            choices.number += 1

    def _advance(self) -> Run | None:
        try:
            return self.machine.advance(self.code, limit=STEPS, budget=self.budget, observer=self.watch)
        except _AtInput:
            return None

    def _trace(self, error: str, origin: tuple[State, Input] | None) -> Trace:
        taken: list[Input] = []
        while origin is not None:
            state, supplied = origin
            taken.append(supplied)
            origin = self.seen[state]
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for edge, values in reversed(taken):
            inputs.setdefault(edge, []).append(values)
        return Trace(error, {}, {edge: tuple(executions) for edge, executions in inputs.items()})


# --------------------------------------------------------------------------------- values to try


def _is_input(edge: Edge) -> bool:
    op = edge.op
    return isinstance(op, Havoc) and not op.approximates and op.function != UNSPECIFIED


def _reads_float(program: Program, edge: Edge) -> bool:
    targets = edge.op.targets if isinstance(edge.op, Havoc) and _is_input(edge) else ()
    return any(target in program.formats for target in targets)


def candidates(program: Program) -> dict[int, tuple[Value, ...]]:
    """Return, for each input, values that make the program behave differently."""
    same = _copies(program)
    compared = _compared(program, same)
    numerals, values = constants(program), dict[int, tuple[Value, ...]]()
    for edge in program.edge.values():
        if isinstance(edge.op, Havoc) and _is_input(edge):
            x = edge.op.targets[0]
            numbers: Iterable[int] = compared.get(_root(same, x)) or map(int, numerals.get(x.sort, ()))
            if x in program.formats:
                format = FORMATS[program.formats[x]]
                numbers = (from_integer(format, 1), from_integer(format, -1), *numbers, format.nan)
            values[edge.index] = tuple(_values(x.sort, numbers))
    return values


def _compared(program: Program, same: Mapping[Expr, Expr]) -> dict[Expr, dict[int, None]]:
    """Return the numbers that variables are compared with, by the roots of their classes."""
    compared: dict[Expr, dict[int, None]] = {}
    for edge in program.edge.values():
        for term in postorder(*terms(edge.op)):
            if term.kind in _COMPARISONS:
                left, right = map(_uncast, term.args)
                near = (0,) if term.kind is Kind.EQ else (0, -1, 1)
                for x, constant in ((left, right), (right, left)):
                    if x.kind is Kind.VAR and constant.kind is Kind.CONST and constant.sort is not BOOL:
                        numbers = (int(constant.value) + n for n in near)
                        compared.setdefault(_root(same, x), {}).update(dict.fromkeys(numbers))
    return compared


def _values(sort: Sort, numbers: Iterable[int]) -> Iterator[Value]:
    """Yield 0, 1 and the first of the numbers that the sort has."""
    if sort is BOOL:
        yield from (False, True)
    elif isinstance(sort, MachineSort):
        fitting = (n for n in dict.fromkeys((0, 1, *numbers)) if sort.low <= n <= sort.high)
        yield from islice(fitting, VALUES)
    else:
        yield from islice(dict.fromkeys((0, 1, *numbers)), VALUES) if sort is INT else (0,)


def _uncast(term: Expr) -> Expr:
    while term.kind in _CASTS:
        term = term.args[0]
    return term


def _copies(program: Program) -> dict[Expr, Expr]:
    """Return the classes of variables that are copied to one another, as a union-find forest."""
    parent: dict[Expr, Expr] = {}
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            for x, term in copies(edge.op, procedure, program):
                one, other = _root(parent, x), _root(parent, _uncast(term))
                if other.kind is Kind.VAR and one is not other:
                    parent[one] = other
    return parent


def _root(parent: Mapping[Expr, Expr], x: Expr) -> Expr:
    while x in parent:
        x = parent[x]
    return x

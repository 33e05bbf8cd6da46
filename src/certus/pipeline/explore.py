"""What inputs can do, by running, breadth first.

In each state in which the program asks for an input, runs go on with each of a few values: 0, 1, and what the
program compares the input with, or else its first constants. A state that was met before is not followed
again. Programs that react to inputs, as protocols and controllers do, have few such states, so that errors
many inputs deep are met within milliseconds; where there are many, the effort is limited.

An error is told as a trace, which is replayed like any other. If all states are followed and none leads to an
error, these may be all there are: that is told as a proof, by the states at loop heads, which is checked like
any other, since values that were not tried could do more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, cast

from certus.core.budget import Budget
from certus.core.effects import terms
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Inductive, Trace
from certus.core.loops import loop_forest
from certus.core.program import UNSPECIFIED, Assign, Call, Edge, Havoc, Location, Program, Return
from certus.core.sorts import BOOL, INT, MachineSort, Sort
from certus.core.terms import Expr, Kind, Value
from certus.core.values import Datum
from certus.core.walk import postorder
from certus.pipeline.states import State, States
from certus.validate.compile import Compiled
from certus.validate.inputs import TraceInputs, constants
from certus.validate.interpreter import Ending, Machine, Run, Snapshot

EFFORT: Final = 5_000_000  # steps in all
BEGIN: Final = 60  # what it costs to go back to a state, in steps, and as much for each object in memory
STEPS: Final = 20_000  # from one input to the next
VALUES: Final = 16  # tried for one input
STATES: Final = 20_000
ARRIVALS: Final = 100_000  # at loop heads, in the runs that a proof is made of
_COMPARISONS: Final = frozenset({Kind.EQ, Kind.LE, Kind.LT})
_CASTS: Final = frozenset({Kind.WRAP, Kind.TO_INT})

Input = tuple[int, tuple[Value, ...]]  # an edge, and the values that it gave


def explored(compiled: Compiled, budget: Budget) -> Trace | Inductive | None:
    """A trace to an error with the fewest inputs that are found to lead to one, or a proof that there is
    none."""
    try:
        return _Exploration(compiled, budget).run()
    except BudgetExceeded:
        return None


class _AtInput(Exception):
    """The program asks for an input."""


class _Watch:
    """Ends a stretch of a run where an input is asked for, and notes the states at `heads` on the way."""

    def __init__(self, inputs: frozenset[Location], heads: frozenset[Location], states: States) -> None:
        self.watched = inputs | heads
        self.passed: dict[State, None] = {}
        self._inputs = inputs
        self._heads = heads
        self._states = states
        self._left = ARRIVALS

    def start(self, machine: Machine) -> None:
        """Nothing has happened yet."""

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        self.look(machine)
        if machine.location in self._inputs:
            raise _AtInput

    def look(self, machine: Machine) -> None:
        """Note the state if the machine is at a head."""
        if machine.location in self._heads:
            self._left -= 1
            snapshot = machine.snapshot()
            if snapshot is None or self._left < 0:
                raise BudgetExceeded("states")
            self.passed[self._states.of(snapshot)] = None

    def enter(self, machine: Machine, edge: Edge) -> None:
        """Calls are part of the stretch."""

    def leave(self, machine: Machine, edge: Edge) -> None:
        """So are returns."""


class _Choices(TraceInputs):
    """Gives an input the value with the number `number` among those to be tried; `asked` is the input, and
    `more` whether it has further values."""

    contents: Mapping[int, tuple[bytes, ...]] = {}  # new objects are zero

    def __init__(self, program: Program) -> None:
        super().__init__(program, Trace(""))
        self._values = candidates(program)
        self.number, self.more = 0, False
        self.asked: Input | None = None

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        rest = super().havoc(edge, occurrence, targets)
        values = self._values.get(edge)
        if values is None:
            return rest
        self.more = self.number + 1 < len(values)
        given = (values[self.number], *rest[1:])
        self.asked = (edge, cast(tuple[Value, ...], given))
        return given


class _Exploration:
    """`seen` has, for each state in which an input is asked for, the state and the input that led to it;
    `waiting` those that are to be followed, `followed` those that were. `whole`: whether every run so far
    came to an input or an end."""

    def __init__(self, compiled: Compiled, budget: Budget) -> None:
        program = compiled.program
        self.compiled = compiled
        self.choices = _Choices(program)
        self.states = States(compiled)
        self.inputs = frozenset(e.source for e in program.edge.values() if _is_input(e))
        self.machine = Machine(compiled, self.choices)
        self.budget = budget
        self._look_at(frozenset())
        self.seen: dict[State, tuple[State, Input] | None] = {}
        self.waiting: deque[tuple[State, Snapshot]] = deque()
        self.followed: list[Snapshot] = []
        self.whole = True

    def _look_at(self, heads: frozenset[Location]) -> None:
        self.watch = _Watch(self.inputs, heads, self.states)
        self.code = self.compiled.code(self.watch.watched)
        self.code.require(self.compiled.program.main)

    def run(self) -> Trace | Inductive | None:
        if not self.inputs:
            return None
        start = self.machine.snapshot()
        if self.machine.location not in self.inputs and self._advance() is not None:
            return None  # the only run, or one that inputs cannot change
        self._arrived()
        effort = EFFORT
        while self.waiting and effort > 0 and len(self.seen) < STATES:
            state, snapshot = self.waiting.popleft()
            self.followed.append(snapshot)
            begin = BEGIN * (1 + len(snapshot[-1]))
            for end in self._tried(snapshot):
                effort -= begin + self.machine.steps
                asked = self.choices.asked
                if asked is None:
                    continue
                if end is None:
                    self._arrived((state, asked))
                elif end.ending is Ending.ERROR:
                    return self._trace(end.location.name, (state, asked))
                else:
                    self.whole &= end.ending in (Ending.EXIT, Ending.BLOCKED)
        if self.waiting or not self.whole or not self.states.scalar or start is None:
            return None
        return self._proof(start)

    def _proof(self, start: Snapshot) -> Inductive:
        """The states at loop heads in all these runs, which are made once more."""
        procedures = self.compiled.program.procedures.values()
        self._look_at(frozenset(head for p in procedures for head in loop_forest(p).heads))
        self.machine.restore(start)
        self.watch.look(self.machine)
        if self.machine.location not in self.inputs:
            self._advance()
        for snapshot in self.followed:
            for _ in self._tried(snapshot):
                self.budget.check()
        return self.states.proof(self.watch.passed)

    def _arrived(self, way: tuple[State, Input] | None = None) -> None:
        """The present state is to be followed, if it is new."""
        snapshot = self.machine.snapshot()
        if snapshot is None:
            self.whole = False
        elif (state := self.states.of(snapshot)) not in self.seen:
            self.seen[state] = way
            self.waiting.append((state, snapshot))

    def _tried(self, state: Snapshot) -> Iterator[Run | None]:
        """How runs from a state end with each value of the input; None: with the next input."""
        choices = self.choices
        choices.number, choices.more = 0, True
        while choices.more:
            self.machine.restore(state)
            choices.more, choices.asked = False, None
            yield self._advance()
            choices.number += 1

    def _advance(self) -> Run | None:
        try:
            return self.machine.advance(self.code, limit=STEPS, budget=self.budget, observer=self.watch)
        except _AtInput:
            return None

    def _trace(self, error: str, way: tuple[State, Input] | None) -> Trace:
        taken: list[Input] = []
        while way is not None:
            state, asked = way
            taken.append(asked)
            way = self.seen[state]
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for edge, values in reversed(taken):
            inputs.setdefault(edge, []).append(values)
        return Trace(error, {}, {edge: tuple(executions) for edge, executions in inputs.items()})


# --------------------------------------------------------------------------------- values to try


def _is_input(edge: Edge) -> bool:
    op = edge.op
    return isinstance(op, Havoc) and not op.approximates and op.function != UNSPECIFIED


def candidates(program: Program) -> dict[int, tuple[Value, ...]]:
    """For each input, values that tell apart what the program does with it."""
    same = _copies(program)
    compared = _compared(program, same)
    known, found = constants(program), dict[int, tuple[Value, ...]]()
    for edge in program.edge.values():
        if isinstance(edge.op, Havoc) and _is_input(edge):
            x = edge.op.targets[0]
            numbers = compared.get(_root(same, x)) or map(int, known.get(x.sort, ()))
            found[edge.index] = tuple(_values(x.sort, numbers))
    return found


def _compared(program: Program, same: Mapping[Expr, Expr]) -> dict[Expr, dict[int, None]]:
    """The numbers that variables are compared with, by the roots of their classes."""
    found: dict[Expr, dict[int, None]] = {}
    for edge in program.edge.values():
        for term in postorder(*terms(edge.op)):
            if term.kind in _COMPARISONS:
                left, right = map(_uncast, term.args)
                near = (0,) if term.kind is Kind.EQ else (0, -1, 1)
                for x, constant in ((left, right), (right, left)):
                    if x.kind is Kind.VAR and constant.kind is Kind.CONST and constant.sort is not BOOL:
                        numbers = (int(constant.value) + n for n in near)
                        found.setdefault(_root(same, x), {}).update(dict.fromkeys(numbers))
    return found


def _values(sort: Sort, numbers: Iterable[int]) -> Iterator[Value]:
    """The first of the numbers that are of the sort, after 0 and 1."""
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
    """Variables that are copied to one another: each with another of its class, up to its root."""
    parent: dict[Expr, Expr] = {}

    def join(targets: Sequence[Expr], values: Sequence[Expr]) -> None:
        for x, value in zip(targets, map(_uncast, values), strict=False):
            if value.kind is Kind.VAR and (one := _root(parent, x)) is not (other := _root(parent, value)):
                parent[one] = other

    for procedure in program.procedures.values():
        for edge in procedure.edges:
            op = edge.op
            if isinstance(op, Assign):
                join(op.targets, op.values)
            elif isinstance(op, Return):
                join(procedure.results, op.values)
            elif isinstance(op, Call):
                callee = program.procedures[op.procedure]
                join(callee.parameters, op.arguments)
                join(op.targets, callee.results)
    return parent


def _root(parent: Mapping[Expr, Expr], x: Expr) -> Expr:
    while x in parent:
        x = parent[x]
    return x

"""States that short random executions of a program come to, to drop wrong guesses without a solver.

The executions are those of the program that the engine gets: without calls, with memory as arrays. A claim
that a state refutes is in no inductive set of claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final, cast

from certus.core.accounting import Budget
from certus.core.errors import Undefined
from certus.core.program import Assign, Assume, Choice, Edge, Havoc, Location, Program, Seq
from certus.core.terms import BOOL, ArraySort, Expr, MachineSort, Sort
from certus.core.values import ArrayValue, Datum, default_value, evaluate
from certus.core.walk import variables
from certus.interpreter.expressions import Writer, define, new_namespace

State = Mapping[Expr, Datum]

RUNS: Final = 240  # executions
VISITS: Final = 14  # edges that an execution takes
STATES: Final = 150  # states at a location
OPERATIONS: Final = 2000  # operations tried for an edge
UNWRITTEN: Final = (0, 1999, 2, 1)  # the values of what was not written
_EAGERNESS: Final = (0.2, 0.5, 0.8)  # probabilities that an input is not 0


class Sampling:
    """Random executions of a program. `states`: those that they come to, at each of some locations."""

    def __init__(self, program: Program, heads: Iterable[Location], budget: Budget) -> None:
        self._program = program
        self._main = program.procedures[program.main]
        self._random = Random(0)
        self._eagerness = 0.5
        self._default = 0
        self.states: dict[Location, list[State]] = {at: [] for at in heads}
        for number in range(RUNS):
            budget.check()
            self._eagerness = _EAGERNESS[number % len(_EAGERNESS)]
            self._default = UNWRITTEN[number % len(UNWRITTEN)]
            self._run()

    def _run(self) -> None:
        at, state = self._program.entry, self._initial()
        for _ in range(VISITS):
            edges = [e for e in self._main.successors[at] if e.target not in self._program.error_locations]
            self._random.shuffle(edges)
            after = ((edge, self._executed(edge, state)) for edge in edges)
            edge, following = next(((e, s) for e, s in after if s is not None), (None, None))
            if edge is None or following is None:
                return
            at, state = edge.target, following
            if len(self.states.get(at, range(STATES))) < STATES:
                self.states[at].append(state)

    def _initial(self) -> State:
        state: dict[Expr, Datum] = {}
        for x in (*self._program.globals, *self._main.variables):
            value = self._program.initial.get(x)
            state[x] = self._unwritten(x.sort) if value is None else evaluate(value, {})
        return state

    def _unwritten(self, sort: Sort) -> Datum:
        """Return a value of a variable that was not written."""
        if isinstance(sort, ArraySort) and isinstance(sort.element, MachineSort):
            return ArrayValue(sort, _fitting(self._default, sort.element))
        return default_value(sort)

    def _input(self, sort: Sort) -> Datum:
        eager = self._random.random() < self._eagerness
        if sort is BOOL:
            return eager
        if isinstance(sort, MachineSort):
            return _fitting(self._random.choice((1, 1, 2, 3, -1)) if eager else 0, sort)
        return default_value(sort)

    def _executed(self, edge: Edge, state: State) -> State | None:
        """Return a state after an edge; None if no execution of it was found."""
        stack: list[tuple[State, Any]] = [(state, (edge, None))]
        for _ in range(OPERATIONS):
            if not stack:
                return None
            state, pending = stack.pop()
            if pending is None:
                return state
            op, rest = pending
            if isinstance(op, Edge):
                op = op.op
            if isinstance(op, Seq):
                stack.append((state, (op.first, (op.second, rest))))
            elif isinstance(op, Choice):
                alternatives = list(op.alternatives)
                self._random.shuffle(alternatives)
                stack += ((state, (each, rest)) for each in alternatives)
            else:
                stack += ((after, rest) for after in self._after(op, state))
        return None

    def _after(self, op: object, state: State) -> Iterator[State]:
        """Yield the state after an operation, if it can be executed."""
        try:
            if isinstance(op, Assign):
                values = [evaluate(value, state) for value in op.values]
                yield {**state, **dict(zip(op.targets, values, strict=True))}
            elif isinstance(op, Havoc):
                yield {**state, **{x: self._input(x.sort) for x in op.targets}}
            elif not isinstance(op, Assume) or evaluate(op.condition, state) is True:
                yield state
        except (Undefined, KeyError, ValueError):
            return


def _fitting(value: int, sort: MachineSort) -> int:
    """Return a number of a sort, modulo its number of values."""
    return (value - sort.low) % (1 << sort.width) + sort.low


def columns(formulas: Sequence[Expr], states: Sequence[State]) -> list[int]:
    """Return for each formula the states in which it is not true, as the bits of a number."""
    if not formulas:
        return []
    reads = variables(*formulas)
    namespace = new_namespace()
    writer = Writer({x: f"s[{i}]" for i, x in enumerate(reads)}, namespace)
    texts = [each.text for each in writer.terms(formulas)]
    define("\n".join(["def f(s):", *writer.lines, f" return ({', '.join(texts)},)"]), "f", namespace)
    compute = cast("Callable[[Sequence[Datum]], tuple[object, ...]]", namespace["f"])
    violated = [0] * len(formulas)
    for number, state in enumerate(states):
        for i, value in enumerate(compute([state[x] for x in reads])):
            if value is not True:
                violated[i] |= 1 << number
    return violated

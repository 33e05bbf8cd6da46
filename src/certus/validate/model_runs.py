"""Runs of the interpreter that depend on listed inputs and nothing else, for comparison with native runs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import cycle, islice, repeat
from types import MappingProxyType
from typing import Final

from certus.core.budget import Budget
from certus.core.challenge import UNDEFINED
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded, CertusError
from certus.core.program import Havoc, Program
from certus.core.terms import Expr
from certus.core.values import Datum, default_value
from certus.validate.compile import compile_program
from certus.validate.harness import ARGUMENT, ARGUMENT_BYTE, ARGUMENT_LENGTH
from certus.validate.inputs import Contents, NoInputs, Nondeterministic, unknown
from certus.validate.interpreter import Ending, Run, run

LOGGED: Final = 256  # of how many inputs it is compared which function gave them
_LENGTHS: Final = (1, 5, 1, 50)  # limits on the steps of runs, in turn, as multiples of the least
_LEAST: Final = 300  # steps; or what may pass every edge twice, if that is more
_LONG: Final = 100_000_000  # steps of a run that must be followed to its end
_PROGRAM_NAME: Final = b"program"  # the only argument that the harness gives
PERIOD: Final = 16  # values that are drawn for each function of a run
_TOLD: Final = 5  # inputs that a message lists

Values = Mapping[str, Sequence[int]]  # by the function that gives them, in the order of the calls


class End(Enum):
    """How a run ended, as far as model and binary can be compared."""

    ERROR = "it reached the error"
    RETURNED = "main returned"
    STOPPED = "it stopped before main returned"
    CRASHED = "it crashed"
    EXHAUSTED = "it asked for more inputs than there were"
    OTHER = "it was not finished"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A run: how it ended, also in words; the functions that gave inputs, in order, and how often they did in
    all. `stubbed`: a function was called that nobody defines. `warning` tells of undefined behaviour."""

    end: End
    detail: str
    asked: tuple[str, ...] = ()
    count: int = 0
    stubbed: bool = False
    warning: Diagnostic | None = None

    @property
    def comparable(self) -> bool:
        return self.end is not End.OTHER

    def like(self, other: Behaviour) -> bool:
        return (self.end, self.count, self.asked) == (other.end, other.count, other.asked)

    def used(self, values: Values) -> dict[str, tuple[int, ...]]:
        """The inputs of a run that was given `values`."""
        counts = Counter(self.asked)
        return {name: tuple(values[name][: counts[name]]) for name in values if counts[name]}


class Stream:
    """Values of one input function without an end: those taken are kept."""

    def __init__(self, values: Iterable[int]) -> None:
        self._values = iter(values)
        self._taken: list[int] = []

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> int:
        value = next(self._values)
        self._taken.append(value)
        return value

    def upto(self, count: int) -> tuple[int, ...]:
        """All values taken so far, but at least `PERIOD`, again and again until there are `count`."""
        self._taken.extend(islice(self._values, max(0, PERIOD - len(self._taken))))
        return tuple(self._taken) + tuple(islice(cycle(self._taken), max(0, count - len(self._taken))))


class _Exhausted(CertusError):
    """A run asks for more inputs than there are."""


class Supplied(NoInputs):
    """Inputs by the function that gives them. Every other value that the program does not determine must not
    be looked at. `given` are the first inputs that were asked for,
    `count` is how many were in all."""

    def __init__(self, program: Program, sources: Mapping[str, Iterable[int]]) -> None:
        self._program = program
        self._sources = {name: iter(values) for name, values in sources.items()}
        self._sources |= {ARGUMENT_LENGTH: repeat(len(_PROGRAM_NAME)), ARGUMENT_BYTE: cycle(_PROGRAM_NAME)}
        self._argc_given = False
        self.given: list[tuple[str, int]] = []
        self.count = 0

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        step = self._program.edge[edge]
        name = step.op.function if isinstance(step.op, Havoc) else None
        if name in self._sources and len(targets) == 1:
            return (self._next(name),)
        if ARGUMENT in step.text and not self._argc_given:
            self._argc_given = True
            return (1,)
        return tuple(unknown(f"{target.name} (`{step.text}`)") for target in targets)

    def _next(self, name: str) -> int:
        try:
            value = next(self._sources[name])
        except StopIteration:
            raise _Exhausted(name) from None
        if name not in (ARGUMENT_LENGTH, ARGUMENT_BYTE):
            self.count += 1
            if len(self.given) < LOGGED:
                self.given.append((name, value))
        return value


class _Completed(Supplied):
    """The same, where all that no function gives is 0, as it is in the compiled program. New objects contain
    zeros, too."""

    contents: Contents = MappingProxyType({})

    def initial(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        given = super().havoc(edge, occurrence, targets)
        return tuple(
            value if isinstance(value, int) else default_value(target.sort)
            for value, target in zip(given, targets, strict=True)
        )


class Model:
    """The program as the front end gave it, run by the interpreter for `seconds` in all. `alone`: there is
    only one run."""

    def __init__(self, program: Program, seconds: float, *, alone: bool) -> None:
        self._program = program
        self._compiled = compile_program(program)
        self._seconds = seconds
        self._alone = alone
        self._least = max(_LEAST, 2 * len(program.edge))

    @property
    def has_time(self) -> bool:
        return self._seconds > 0

    def run(self, values: Mapping[str, Iterable[int]], number: int) -> Behaviour:
        """Run number `number`, on these inputs and nothing else."""
        steps = _LONG if self._alone else self._least * _LENGTHS[number % len(_LENGTHS)]
        start = time.monotonic()
        done = self._behaviour(Supplied(self._program, values), steps, self._seconds)
        self._seconds -= time.monotonic() - start
        return done

    def completed(self, values: Values, seconds: float) -> Behaviour:
        """A run with 0 for all values that nobody gives, as the compiled program has it."""
        return self._behaviour(_Completed(self._program, values), _LONG, seconds)

    def _behaviour(self, inputs: Supplied, steps: int, seconds: float) -> Behaviour:
        try:
            done = run(self._compiled, inputs, step_limit=steps, budget=Budget(seconds))
        except Nondeterministic as error:
            return Behaviour(End.OTHER, str(error))
        except _Exhausted:
            return Behaviour(End.OTHER, End.EXHAUSTED.value)
        except BudgetExceeded:
            return Behaviour(End.OTHER, "it was not finished in time")
        end = _ENDS.get(done.ending, End.OTHER)
        detail = done.ending.value + (f": {done.cause}" if done.cause else "")
        warning = _warning(done, inputs) if done.ending is Ending.UNDEFINED else None
        return Behaviour(end, detail, tuple(name for name, _ in inputs.given), inputs.count, warning=warning)


_ENDS: Final = {Ending.ERROR: End.ERROR, Ending.EXIT: End.RETURNED, Ending.BLOCKED: End.STOPPED}


def inputs_text(inputs: Sequence[tuple[str, int]]) -> str:
    """The first of the inputs of a run, as messages have them; empty if there are none."""
    listed = ", ".join(f"{name}() = {value}" for name, value in inputs[:_TOLD])
    more = ", ..." if len(inputs) > _TOLD else ""
    return f" with the inputs {listed}{more}" if listed else ""


def _warning(done: Run, inputs: Supplied) -> Diagnostic:
    return Diagnostic(
        UNDEFINED,
        f"an execution{inputs_text(inputs.given)} meets undefined behaviour here: {done.cause}",
        Severity.WARNING,
        None if done.edge is None else done.edge.span,
        hint="correct this first: the answer does not cover what follows undefined behaviour",
    )

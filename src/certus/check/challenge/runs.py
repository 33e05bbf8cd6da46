"""Run a program on listed inputs only: its model by the interpreter, and natively, by Clang or gcc."""

from __future__ import annotations

import signal
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import cycle, islice, repeat
from pathlib import Path
from types import MappingProxyType
from typing import Final

from certus.check.replay.build import RUNS, UNCONFINED, Builds, Compiler, NotBuilt, Wanted
from certus.check.replay.compiled import MEMORY
from certus.check.replay.harness import ENDINGS, NOTED, ExitCode
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded, CertusError
from certus.core.outcome import UNDEFINED
from certus.core.program import Havoc, Program
from certus.core.terms import Expr
from certus.core.values import Datum, default_value
from certus.core.vocabulary import (
    ALLOCATION_FAILS,
    ARGUMENT,
    ARGUMENT_BYTE,
    ARGUMENT_LENGTH,
    PART_OF_KIND,
    UNINITIALISED,
)
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import Contents, NoInputs, Nondeterministic, unknown
from certus.interpreter.interpreter import Ending, Run, run
from certus.system.tools import Ended, run_confined

LOGGED: Final = 256  # inputs whose functions are compared
_LENGTHS: Final = (1, 5, 1, 50)  # limits on the steps of runs, in turn, as multiples of the least
_LEAST: Final = 300  # steps; or what may pass every edge twice, if that is more
_LONG: Final = 100_000_000  # steps of a run that must finish
_PROGRAM_NAME: Final = b"program"  # the only argument in the harness
PERIOD: Final = 16  # values for each function of a run before they repeat
_LISTED: Final = 5  # inputs in a message

Values = Mapping[str, Sequence[int]]  # inputs by function, in the order of the calls


class End(Enum):
    """The ways a run can end, as far as model and compiled program can be compared."""

    ERROR = "it reached the error"
    RETURNED = "main returned"
    STOPPED = "it stopped before main returned"
    CRASHED = "it crashed"
    EXHAUSTED = "it requested more inputs than there were"
    OTHER = "it did not finish"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The observed part of a run: how it ended, also in words; the input functions called, in order, and the
    number of all such calls. `stubbed` if it called an undefined function. `warning` is about undefined
    behaviour. `error` is the kind of error that a run of the model reached; it has `End.OTHER` if the
    compiled program does not notice errors of this kind."""

    end: End
    detail: str
    asked: tuple[str, ...] = ()
    count: int = 0
    stubbed: bool = False
    warning: Diagnostic | None = None
    error: str = ""

    @property
    def comparable(self) -> bool:
        """Return whether the run finished in a way that can be compared."""
        return self.end is not End.OTHER

    @property
    def goes_on(self) -> bool:
        """Return whether the compiled program goes on after the error that this run of the model reached.
        Nothing that it does then contradicts the model, whose executions end at their first error."""
        return self.end is End.OTHER and self.error != ""

    def like(self, other: Behaviour) -> bool:
        """Return whether two runs ended alike and requested the same inputs."""
        return (self.end, self.count, self.asked) == (other.end, other.count, other.asked)

    def used(self, values: Values) -> dict[str, tuple[int, ...]]:
        """Return the inputs that the run used of `values`."""
        counts = Counter(self.asked)
        return {name: tuple(values[name][: counts[name]]) for name in values if counts[name]}


class Stream:
    """An endless sequence of values of one input function, which keeps those taken."""

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
        """Return all values taken so far, at least `PERIOD`, repeated until there are `count`."""
        self._taken.extend(islice(self._values, max(0, PERIOD - len(self._taken))))
        return tuple(self._taken) + tuple(islice(cycle(self._taken), max(0, count - len(self._taken))))


class _Exhausted(CertusError):
    """A run requests more inputs than there are."""


class Supplied(NoInputs):
    """Inputs by function. A run must not use any other value that the program does not determine. `used` are
    the first inputs that it requested, `count` is the number of all."""

    def __init__(self, program: Program, sources: Mapping[str, Iterable[int]]) -> None:
        self._program = program
        self._sources = {name: iter(values) for name, values in sources.items()}
        self._sources |= {ARGUMENT_LENGTH: repeat(len(_PROGRAM_NAME)), ARGUMENT_BYTE: cycle(_PROGRAM_NAME)}
        self._sources[ALLOCATION_FAILS] = repeat(0)  # in the compiled program, allocations succeed
        self._has_argc = False
        self.used: list[tuple[str, int]] = []
        self.count = 0

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        step = self._program.edge[edge]
        name = step.op.function if isinstance(step.op, Havoc) else None
        if name in self._sources and len(targets) == 1:
            return (self._next(name),)
        if ARGUMENT in step.text and not self._has_argc:
            self._has_argc = True
            return (1,)
        return tuple(unknown(f"{target.name} (`{step.text}`)") for target in targets)

    def _next(self, name: str) -> int:
        try:
            value = next(self._sources[name])
        except StopIteration:
            raise _Exhausted(name) from None
        if name not in (ARGUMENT_LENGTH, ARGUMENT_BYTE, ALLOCATION_FAILS):
            self.count += 1
            if len(self.used) < LOGGED:
                self.used.append((name, value))
        return value


class _Completed(Supplied):
    """Inputs by function, where every other value is 0, as in the compiled program. New objects contain
    zeros as well."""

    contents: Contents = MappingProxyType({})

    def initial(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    local = initial

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = super().havoc(edge, occurrence, targets)
        return tuple(
            value if isinstance(value, int) else default_value(target.sort)
            for value, target in zip(values, targets, strict=True)
        )


class Model:
    """The program as the front end built it, which the interpreter runs for `seconds` in all. `single` if
    there is only one run."""

    def __init__(self, program: Program, seconds: float, *, single: bool) -> None:
        self._program = program
        self._compiled = compile_program(program)
        self._seconds = seconds
        self._single = single
        self._least = max(_LEAST, 2 * len(program.edge))

    @property
    def has_time(self) -> bool:
        return self._seconds > 0

    def run(self, values: Mapping[str, Iterable[int]], number: int) -> Behaviour:
        """Run the model on these inputs only; `number` determines the limit on steps."""
        steps = _LONG if self._single else self._least * _LENGTHS[number % len(_LENGTHS)]
        start = time.monotonic()
        behaviour = self._behaviour(Supplied(self._program, values), steps, self._seconds)
        self._seconds -= time.monotonic() - start
        return behaviour

    def completed(self, values: Values, seconds: float) -> Behaviour:
        """Run the model with 0 for all other values, as in the compiled program."""
        return self._behaviour(_Completed(self._program, values), _LONG, seconds)

    def _behaviour(self, inputs: Supplied, steps: int, seconds: float) -> Behaviour:
        try:
            end = run(self._compiled, inputs, step_limit=steps, budget=Budget(seconds))
        except Nondeterministic as error:
            return Behaviour(End.OTHER, str(error))
        except _Exhausted:
            return Behaviour(End.OTHER, End.EXHAUSTED.value)
        except BudgetExceeded:
            return Behaviour(End.OTHER, "it did not finish in time")
        if end.ending is Ending.ERROR and end.cause:  # the compiled program may have another value
            return Behaviour(End.OTHER, f"it depends on {end.cause}")
        detail = end.ending.value + (f": {end.cause}" if end.cause else "")
        warning = _warning(end, inputs) if end.ending is Ending.UNDEFINED else None
        asked = tuple(name for name, _ in inputs.used)
        kind = self._program.error_at(end.location).kind if end.ending is Ending.ERROR else ""
        if kind in PART_OF_KIND or kind == UNINITIALISED:  # the compiled program does not notice them
            detail = f"it has the memory error {kind}"
            return Behaviour(End.OTHER, detail, asked, inputs.count, error=kind)
        behaviour = _MODEL_ENDS.get(end.ending, End.OTHER)
        return Behaviour(behaviour, detail, asked, inputs.count, warning=warning, error=kind)


_MODEL_ENDS: Final = {Ending.ERROR: End.ERROR, Ending.EXIT: End.RETURNED, Ending.BLOCKED: End.STOPPED}


def inputs_text(inputs: Sequence[tuple[str, int]]) -> str:
    """Return the text of the first inputs of a run for a message; empty if there are none."""
    listed = ", ".join(f"{name}() = {value}" for name, value in inputs[:_LISTED])
    more = ", ..." if len(inputs) > _LISTED else ""
    return f" with the inputs {listed}{more}" if listed else ""


def _warning(end: Run, inputs: Supplied) -> Diagnostic:
    return Diagnostic(
        UNDEFINED,
        f"an execution{inputs_text(inputs.used)} meets undefined behaviour here: {end.cause}",
        Severity.WARNING,
        None if end.edge is None else end.edge.span,
        hint="correct this first: the answer does not cover executions after undefined behaviour",
    )


# ------------------------------------------------------------------------------------ native runs


class Binary:
    """A program that is built in `directory`. `words` are the numbers of words in a value of each input
    function, `microseconds` is the time limit of one run. `codes` are the exit codes that mean an error."""

    def __init__(
        self,
        program: Program,
        wanted: Wanted,
        *,
        arguments: Sequence[str],
        directory: Path,
        words: Mapping[str, int],
        microseconds: int,
        codes: frozenset[int],
    ) -> None:
        self._program = program
        self._wanted = replace(wanted, defines=(RUNS,))
        self._arguments = arguments
        self._directory = directory
        self._words = words
        self._microseconds = microseconds
        self._codes = codes
        self._builds = self._built_as(RUNS)

    def runs(
        self,
        supplies: Sequence[Values],
        compiler: Compiler,
        *,
        seconds: float,
        build_seconds: float | None = None,
    ) -> list[Behaviour]:
        """Run the program of one compiler on all inputs, or on as many as `seconds` permit; return its
        behaviours. Raises `NotBuilt`."""
        table = Table(self._words, supplies, microseconds=self._microseconds)
        self._execute(table, compiler, seconds, build_seconds)
        if table.unconfined:
            self._builds = self._built_as(RUNS, UNCONFINED)
            self._execute(table, compiler, seconds, build_seconds)
        return table.behaviours(self._codes)

    def _built_as(self, *defines: str) -> Builds:
        wanted = replace(self._wanted, defines=defines)
        return Builds(self._program, wanted, arguments=self._arguments, directory=self._directory)

    def _execute(self, table: Table, compiler: Compiler, seconds: float, build_seconds: float | None) -> None:
        """Build the program and run it on the inputs of the table, which receives the results."""
        limit = {} if build_seconds is None else {"seconds": build_seconds}
        built = self._builds.build(compiler, **limit)
        path = self._directory / "table"
        path.write_bytes(table.encoded())
        ended = run_confined(
            built.executable, directory=self._directory, seconds=seconds, memory=MEMORY, table=path
        )
        table.read(path.read_bytes())
        if not table.finished:
            raise NotBuilt(_not_run(ended, seconds))


def _not_run(ended: Ended, seconds: float) -> str:
    """Return why no run finished or reached its own limit."""
    if ended.code is not None:
        return f"the compiled program could not be run: exit code {ended.code}"
    if ended.limit.endswith(" s"):
        return f"no native run finished within {seconds:.1f} s"
    return f"the compiled program could not be run: {ended.limit}"


_HEADER: Final = 7
_NOT_RUN: Final = (1 << 64) - 1
_WORD: Final = (1 << 64) - 1
_STOPS: Final = (ExitCode.ASSERTION, ExitCode.ERROR, ExitCode.ASSUMPTION, ExitCode.ABORTED, ExitCode.EXITED)
_ENDS: Final[Mapping[int, End]] = {
    ExitCode.RETURNED: End.RETURNED,
    **dict.fromkeys(_STOPS, End.STOPPED),  # unless it is the error in question
    ExitCode.CRASHED: End.CRASHED,
    ExitCode.EXHAUSTED: End.EXHAUSTED,
}


class Table:
    """The inputs of many runs: `words` are the numbers of words in a value of each function, `supplies` the
    values by function, `microseconds` is the time limit of one run."""

    def __init__(self, words: Mapping[str, int], supplies: Sequence[Values], *, microseconds: int) -> None:
        self._words = words
        self._supplies = supplies
        self._microseconds = microseconds
        self._record = 2 + 2 * len(words)  # words for one run
        self._logs = _HEADER + self._record * len(supplies)
        self._read = array("Q")

    def encoded(self) -> bytes:
        """Return the table before the first run."""
        records, values = array("Q"), array("Q")
        start = self._logs + LOGGED * len(self._supplies)
        for supply in self._supplies:
            records.extend((_NOT_RUN, 0))
            for name, words in self._words.items():
                records.extend((start + len(values), len(supply[name])))
                for value in supply[name]:
                    values.extend(value >> 64 * word & _WORD for word in range(words))
        size = 8 * (start + len(values))
        runs, functions = len(self._supplies), len(self._words)
        header = (size, runs, functions, LOGGED, self._microseconds, _HEADER, self._logs)
        logs = array("Q", bytes(8 * LOGGED * len(self._supplies)))
        return (array("Q", header) + records + logs + values).tobytes()

    def read(self, data: bytes) -> None:
        """Read the table after the runs."""
        self._read = array("Q", data)

    @property
    def finished(self) -> int:
        """The number of runs that finished or reached their limit."""
        statuses = (self._read[self._at(run)] for run in range(len(self._supplies)))
        return next((run for run, status in enumerate(statuses) if status == _NOT_RUN), len(self._supplies))

    @property
    def unconfined(self) -> bool:
        """Return whether the runs did not start because the system cannot confine them."""
        return self._read[self._at(0)] == ExitCode.UNCONFINED << 8

    def behaviours(self, errors: frozenset[int]) -> list[Behaviour]:
        """Return the behaviours of the runs. Exit codes in `errors` mean an error."""
        return [self._behaviour(run, errors) for run in range(self.finished)]

    def _at(self, run: int) -> int:
        return _HEADER + self._record * run

    def _behaviour(self, run: int, errors: frozenset[int]) -> Behaviour:
        status, count = self._read[self._at(run) : self._at(run) + 2]
        names = tuple(self._words)
        log = self._logs + LOGGED * run
        numbers = self._read[log : log + min(count, LOGGED)]
        asked = tuple(names[number] if number < len(names) else "?" for number in numbers)
        number, code = status & 127, status >> 8 & 255
        if number:
            end = _SIGNALS.get(number, End.OTHER)
            return Behaviour(end, f"it was ended by a signal: {signal.strsignal(number)}", asked, count)
        stubbed, code = bool(code & NOTED), code & ~NOTED
        end = End.ERROR if code in errors else _ENDS.get(code, End.OTHER)
        detail = ENDINGS.get(code, f"it ended with exit code {code}")
        return Behaviour(end, detail, asked, count, stubbed)


_SIGNALS: Final[Mapping[int, End]] = {
    signal.SIGILL: End.STOPPED,
    signal.SIGTRAP: End.STOPPED,
}  # by `__builtin_trap`

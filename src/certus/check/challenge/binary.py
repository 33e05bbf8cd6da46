"""Run the compiled program of Clang or gcc on the inputs of many runs."""

from __future__ import annotations

import signal
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from certus.check.challenge.model_runs import LOGGED, Behaviour, End, Values
from certus.check.replay.build import RUNS, UNCONFINED, Builds, Compiler, NotBuilt, Wanted
from certus.check.replay.compiled import MEMORY
from certus.check.replay.harness import ENDINGS, NOTED, ExitCode
from certus.core.program import Program
from certus.system.tools import Ended, run_confined


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
        """Whether the runs did not start because the system cannot confine them."""
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

"""The compiled program, run on the inputs of many runs, by Clang and gcc one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from certus.core.program import Program
from certus.system.confined import Ended, run_confined
from certus.validate.build import RUNS, UNCONFINED, Builds, Compiler, NotBuilt, Wanted
from certus.validate.compiled import MEMORY
from certus.validate.model_runs import Behaviour, Values
from certus.validate.native_table import Table


class Binary:
    """A program that is built in `directory`. `words` says how many words a value of each input function has,
    `microseconds` how long each run may take; `traps`: signals mean the error."""

    def __init__(
        self,
        program: Program,
        wanted: Wanted,
        *,
        arguments: Sequence[str],
        directory: Path,
        words: Mapping[str, int],
        microseconds: int,
        traps: bool,
    ) -> None:
        self._program = program
        self._wanted = replace(wanted, defines=(RUNS,))
        self._arguments = arguments
        self._directory = directory
        self._words = words
        self._microseconds = microseconds
        self._traps = traps
        self._builds = self._built_as(RUNS)

    def runs(
        self,
        supplies: Sequence[Values],
        compiler: Compiler,
        *,
        seconds: float,
        build_seconds: float | None = None,
    ) -> list[Behaviour]:
        """How the program of this compiler ends on all inputs, or on as many as there are seconds for. Raises
        `NotBuilt`."""
        table = Table(self._words, supplies, microseconds=self._microseconds)
        self._execute(table, compiler, seconds, build_seconds)
        if table.unconfined:
            self._builds = self._built_as(RUNS, UNCONFINED)
            self._execute(table, compiler, seconds, build_seconds)
        return table.behaviours(frozenset(self._wanted.errors.values()), traps=self._traps)

    def _built_as(self, *defines: str) -> Builds:
        wanted = replace(self._wanted, defines=defines)
        return Builds(self._program, wanted, arguments=self._arguments, directory=self._directory)

    def _execute(self, table: Table, compiler: Compiler, seconds: float, build_seconds: float | None) -> None:
        """Build the program and run it on the inputs of the table, which notes how it ended."""
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
    """Why no run came to its end, nor to its own limit."""
    if ended.code is not None:
        return f"the compiled program could not be run: exit code {ended.code}"
    if ended.limit.endswith(" s"):
        return f"no native run came to its end within {seconds:.1f} s"
    return f"the compiled program could not be run: {ended.limit}"

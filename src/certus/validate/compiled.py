"""A trace of a C program replayed by the program itself, compiled.

The program is built with a harness that supplies the trace's inputs (`validate.build`), and run confined.

The compiled program must reach the error if the run depends on nothing but the inputs of the trace. That
is what the interpreter finds out first: every other value (uninitialised variables, addresses, results of
functions nobody defines) is one that must not be looked at.

If gcc is there, the program that it compiles replays the trace, too. A violation stands if Clang's program
reaches the error, since that is the program that was verified.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from certus.core.budget import Budget
from certus.core.challenge import CLANG, GCC, Compilers
from certus.core.evidence import Trace
from certus.core.program import Alloc, Havoc, Program
from certus.core.terms import Expr
from certus.core.values import Datum
from certus.system.confined import Ended, run_confined
from certus.validate.build import UNCONFINED, Builds, Built, Compiler, NotBuilt, Wanted, no_gcc
from certus.validate.compile import compile_program
from certus.validate.harness import (
    ARGUMENT,
    ENDINGS,
    NOTED,
    Code,
    Supply,
    error_codes,
    error_function,
    harness,
    is_input,
)
from certus.validate.inputs import Contents, NoInputs, Nondeterministic, TraceInputs, unknown
from certus.validate.interpreter import run

_SECONDS: Final = 10.0  # for the compiled program, at most
_GCC_SECONDS: Final = 2.0  # for gcc, and for the program that it compiled
_GCC_SHARE: Final = 0.1  # of the time that is left, likewise
MEMORY: Final = 3 << 30  # bytes of addresses
# By the kind of error: flags that make it end the program, by a signal.
CHECKS: Final = {
    "overflow": ("-fno-wrapv", "-fsanitize=signed-integer-overflow,shift", "-fsanitize-trap=all"),
    "division-by-zero": ("-fsanitize=integer-divide-by-zero", "-fsanitize-trap=all"),
}
TRAPS: Final = (-signal.SIGILL, -signal.SIGTRAP, -signal.SIGFPE)


@dataclass(frozen=True, slots=True)
class CompiledReplay:
    """Whether the compiled program reached the error, and how it ended. `why_not` says why it may end
    otherwise than the trace, or could not be run at all; if it is None it had to confirm the trace.
    `compilers` are those whose programs reached the error, and `supply` what they were given."""

    confirmed: bool
    ending: str
    why_not: str | None = None
    compilers: Compilers = field(default_factory=Compilers)
    supply: Supply = field(default_factory=Supply)

    @property
    def disagrees(self) -> bool:
        return not self.confirmed and self.why_not is None


def compiled_replay(
    program: Program,
    trace: Trace,
    *,
    arguments: Sequence[str] = (),
    budget: Budget,
    keep: Path | None = None,
) -> CompiledReplay:
    """Replay `trace`, which the interpreter has confirmed, by the compiled program; `arguments`
    are the user's flags for Clang. The harness is saved to `keep`."""
    supply, unsure = _supply(program, trace, budget)
    site = program.error_at(program.location[trace.error])
    error = error_function(program, trace.error)
    wanted = Wanted(
        error_codes(error),
        lambda undefined: harness(supply, undefined, error, about=f"{site.kind}: {site.text}"),
        CHECKS.get(site.kind, ()),
    )
    replayed = _Replays(program, wanted, arguments, budget, site.kind, unsure)
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        return replace(replayed.run(Path(directory), keep), supply=supply)


@dataclass(slots=True)
class _Replays:
    """The runs of one trace by both compilers' programs."""

    program: Program
    wanted: Wanted
    arguments: Sequence[str]
    budget: Budget
    kind: str
    unsure: str | None

    def run(self, directory: Path, keep: Path | None) -> CompiledReplay:
        builds = self._builds(directory)
        try:
            built, ended = self._ended(builds, directory, Compiler.CLANG)
            if ended.code == Code.UNCONFINED:
                self.wanted = replace(self.wanted, defines=(UNCONFINED,))
                builds = self._builds(directory)
                built, ended = self._ended(builds, directory, Compiler.CLANG)
        except NotBuilt as error:
            return CompiledReplay(False, "not run", str(error))
        if keep is not None:
            keep.write_text(built.harness, encoding="utf-8")
        found = _judged(ended, self.kind, self.unsure, built.missing)
        if not (found.confirmed or found.disagrees):
            return found
        return replace(found, compilers=self._compilers(found, builds, directory))

    def _compilers(self, clang: CompiledReplay, builds: Builds, directory: Path) -> Compilers:
        """Whose program reaches the error: Clang's as given, and that of gcc, if it can be had."""
        agreed = (CLANG,) if clang.confirmed else ()
        absent = no_gcc(self.program)
        if absent:
            return Compilers(agreed, absent)
        try:
            built, ended = self._ended(builds, directory, Compiler.GCC)
        except NotBuilt as error:
            return Compilers(agreed, str(error))
        found = _judged(ended, self.kind, self.unsure, built.missing)
        if found.confirmed:
            return Compilers((*agreed, GCC))
        if ended.code is None or (found.why_not is not None and self.unsure is None):
            return Compilers(agreed, found.why_not or found.ending)
        return Compilers(agreed, differs=found.ending)

    def _builds(self, directory: Path) -> Builds:
        return Builds(self.program, self.wanted, arguments=self.arguments, directory=directory)

    def _ended(self, builds: Builds, directory: Path, compiler: Compiler) -> tuple[Built, Ended]:
        if compiler is Compiler.CLANG:
            built = builds.build()
            limit = self.budget.part(1.0, at_most=_SECONDS)
        else:
            share = self.budget.part(_GCC_SHARE, at_most=_GCC_SECONDS)
            built = builds.build(compiler, seconds=share.remaining() or 0.0)
            limit = self.budget.part(_GCC_SHARE, at_most=_GCC_SECONDS)
        seconds = limit.remaining() or 0.0
        ended = run_confined(built.executable, directory=directory, seconds=seconds, memory=MEMORY)
        return built, ended


def _judged(ended: Ended, kind: str, unsure: str | None, missing: Sequence[str]) -> CompiledReplay:
    if ended.code is None:
        return CompiledReplay(
            False, "not finished", f"the compiled program was not run to its end: {ended.limit}"
        )
    noted, code = ended.code >= NOTED, ended.code & ~NOTED if ended.code > 0 else ended.code
    if kind in CHECKS:
        confirmed = code in TRAPS or code == Code.DIVIDED_BY_ZERO
    else:
        confirmed = code == (Code.ASSERTION if kind == "assertion" else Code.ERROR)
    if code < 0:
        ending = f"it was ended by {signal.Signals(-code).name}"
    else:
        ending = ENDINGS.get(code, f"it ended with exit code {code}")
    if not confirmed and unsure is None:
        if code == Code.NO_MEMORY:
            unsure = "the compiled program ran out of memory"
        elif code == Code.NO_STACK:
            unsure = "the compiled program ran out of stack"
        elif missing and (noted or code < 0 or code == Code.CRASHED):
            unsure = f"the program uses what is not defined: {', '.join(missing[:5])}"
    return CompiledReplay(confirmed, ending, unsure)


# ----------------------------------------------------------------------------------- the inputs


class _TracedInputs:
    """The inputs of a trace, noted down as they are asked for. New objects are zero in the compiled program,
    too: flags see to that, and runtime.c. Other contents it cannot be given."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self.supply = Supply()
        self._program = program
        self._given = TraceInputs(program, trace)
        self.contents = self._given.objects
        self._argc_known = False

    def initial(self, variable: Expr) -> Datum:
        return self._given.initial(variable)

    def local(self, variable: Expr) -> Datum:
        return self._given.local(variable)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        return self.given(edge, occurrence, targets)[0]

    def given(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[tuple[Datum, ...], bool]:
        """The values, and whether the compiled program certainly gets the same."""
        values = self._given.havoc(edge, occurrence, targets)
        step, value = self._program.edge[edge], values[0] if len(values) == 1 else None
        name = step.op.function if isinstance(step.op, Havoc) else None
        if name is not None and isinstance(value, int):
            self.supply.values.setdefault(name, []).append(int(value))
            return values, is_input(name)
        if ARGUMENT in step.text and not self._argc_known and isinstance(value, int):
            self.supply.argc = int(value)
            self._argc_known = True
            return values, True
        return values, False


class _CertainInputs(NoInputs):
    """The same, where all values that a harness cannot supply must not be looked at."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self.traced = _TracedInputs(program, trace)
        self.contents = self.traced.contents
        self._program = program

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values, certain = self.traced.given(edge, occurrence, targets)
        text = self._program.edge[edge].text
        return values if certain else tuple(unknown(f"{t.name} (`{text}`)") for t in targets)


def _supply(program: Program, trace: Trace, budget: Budget) -> tuple[Supply, str | None]:
    """What the functions that give inputs must return, in order; and why the run depends on more."""
    compiled = compile_program(program)
    certain = _CertainInputs(program, trace)
    try:
        run(compiled, certain, budget=budget)
    except Nondeterministic as error:
        inputs = _TracedInputs(program, trace)
        run(compiled, inputs, budget=budget)
        return inputs.supply, str(error)
    return certain.traced.supply, _contents(program, certain.contents)


def _contents(program: Program, contents: Contents) -> str | None:
    """That objects must contain something, which a harness cannot see to."""
    for edge, objects in contents.items():
        op = program.edge[edge].op
        if isinstance(op, Alloc) and any(map(any, objects)):
            return f"the run depends on what `{op.name}` contains before anything is written there"
    return None

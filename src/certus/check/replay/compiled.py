"""Replay a trace of a C program by the compiled program itself.

The program is built with a harness that supplies the inputs of the trace (`check.replay.build`), and runs
confined. It must reach the error if the run depends only on these inputs. The interpreter decides this first:
it refuses every use of another undetermined value (uninitialised variables, addresses, results of undefined
functions).

If gcc is installed, the program that it compiles replays the trace as well. A violation is confirmed if
Clang's program reaches the error, since Clang's program is the one that was verified.

Memory errors need checks of every access (`check.replay.sanitized`), which only Clang's program has.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Final, cast

from certus.check.replay.build import UNCONFINED, Builds, Built, Compiler, NotBuilt, Wanted, no_gcc
from certus.check.replay.harness import (
    CHECK_CODES,
    ENDINGS,
    NOTED,
    ExitCode,
    Scan,
    Supply,
    error_codes,
    error_function,
    harness,
    is_input,
)
from certus.check.replay.sanitized import MEMORY_KINDS, MemoryFault, SanitizedProgram
from certus.core.accounting import Budget
from certus.core.effects import terms
from certus.core.evidence import Trace
from certus.core.outcome import CLANG, GCC, Compilers
from certus.core.program import Alloc, Edge, Free, Havoc, Program
from certus.core.terms import INT, Expr, Kind, MachineSort
from certus.core.values import Datum
from certus.core.vocabulary import ARGUMENT, ELEMENT, SCAN, SCANNED, UNINITIALISED
from certus.core.walk import postorder
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import (
    Contents,
    NoInputs,
    Nondeterministic,
    ReplayInputs,
    TraceInputs,
    unknown,
)
from certus.interpreter.interpreter import Ending, run
from certus.system.tools import TRAPPING, Ended, run_confined

_SECONDS: Final = 10.0  # for the compiled program, at most
_GCC_SECONDS: Final = 2.0  # for gcc, and for the program that it compiled
_GCC_SHARE: Final = 0.1  # of the remaining time, likewise
_ALL_SET: Final = "in the compiled program every variable and every object has a value"
_NO_GCC: Final = "it does not check accesses to memory"
MEMORY: Final = 3 << 30  # bytes of address space
# Flags that make an error of this kind end the program with a code of `CHECK_CODES`.
CHECKS: Final = {
    "overflow": (
        *("-fno-wrapv", TRAPPING, "-fsanitize=signed-integer-overflow,shift"),
        "-fno-sanitize-recover=all",
    ),
    "division-by-zero": ("-fsanitize=integer-divide-by-zero", "-fno-sanitize-recover=all"),
    "shift": ("-fno-wrapv", "-fsanitize=shift", "-fno-sanitize-recover=all"),  # without it, bases may wrap
    "array-bounds": ("-fsanitize=array-bounds", "-fno-sanitize-recover=all", "-fstrict-flex-arrays=2"),
    "float-cast-overflow": ("-fsanitize=float-cast-overflow", "-fno-sanitize-recover=all"),
    "float-division-by-zero": ("-fsanitize=float-divide-by-zero", "-fno-sanitize-recover=all"),
}


@dataclass(frozen=True, slots=True)
class CompiledReplay:
    """How the compiled program ended, and whether it reached the error. `why_not` says why it may end
    differently from the trace, or could not be run; if it is None, it must confirm the trace. `compilers`
    are those whose programs reached the error, and `supply` are their inputs. `memory` is the memory error
    that the compiled program made, if the trace ends in one."""

    confirmed: bool
    ending: str
    why_not: str | None = None
    compilers: Compilers = field(default_factory=Compilers)
    supply: Supply = field(default_factory=Supply)
    memory: MemoryFault | None = None

    @property
    def disagrees(self) -> bool:
        """Return whether the program must reach the error but does not."""
        return not self.confirmed and self.why_not is None


def compiled_replay(
    program: Program,
    trace: Trace,
    *,
    arguments: Sequence[str] = (),
    budget: Budget,
    keep: Path | None = None,
) -> CompiledReplay:
    """Replay `trace`, which the interpreter has confirmed, by the compiled program. `arguments` are the
    user's flags for Clang. The harness is saved to `keep`."""
    supply, uncertain = _supply(program, trace, budget)
    site = program.error_at(program.location[trace.error])
    if site.kind == UNINITIALISED:
        return CompiledReplay(False, "not run", _ALL_SET, supply=supply)
    if site.kind in MEMORY_KINDS:
        about = f"{site.kind}: {site.text}"
        result = replay_memory(
            program, supply, site.kind, uncertain, about=about, arguments=arguments, budget=budget, keep=keep
        )
        return replace(result, supply=supply)
    error = error_function(program, trace.error)
    wanted = Wanted(
        error_codes(error),
        lambda undefined: harness(supply, undefined, error, about=f"{site.kind}: {site.text}"),
        CHECKS.get(site.kind, ()),
    )
    replays = _Replays(program, wanted, arguments, budget, site.kind, uncertain)
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        return replace(replays.run(Path(directory), keep), supply=supply)


def with_zeros(program: Program, trace: Trace, *, steps: int, budget: Budget) -> Trace | None:
    """Return the trace with 0 for all values that a harness cannot supply, such as those of unset variables
    and the contents of new objects: they are 0 in the compiled program. Return None if the run with zeros
    reaches no error within about ten times as many `steps`. It may reach another error."""
    inputs = {key: values for key, values in trace.inputs.items() if _is_supplied(program.edge[key])}
    zeros = Trace(trace.error, inputs=inputs)
    if zeros == trace:
        return None
    limit = 10 * steps + 1000
    end = run(compile_program(program), ReplayInputs(program, zeros), step_limit=limit, budget=budget)
    return replace(zeros, error=end.location.name) if end.ending is Ending.ERROR else None


def replay_memory(
    program: Program,
    supply: Supply,
    kind: str,
    uncertain: str | None = None,
    *,
    about: str = "a memory error",
    arguments: Sequence[str] = (),
    budget: Budget,
    keep: Path | None = None,
) -> CompiledReplay:
    """Run the compiled program on the inputs, with checks of every access to memory; it confirms an error of
    `kind`, one of `MEMORY_KINDS`, if it makes one. `uncertain` says why the run depends on more than the
    inputs, if it does. The harness is saved to `keep`."""
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        sanitized = SanitizedProgram(program, arguments=arguments, directory=Path(directory))
        seconds = budget.part(1.0, at_most=_SECONDS).remaining() or 0.0
        try:
            run = sanitized.run(supply, seconds=seconds, about=about)
        except NotBuilt as error:
            return CompiledReplay(False, "not run", str(error))
    if keep is not None:
        keep.write_text(sanitized.harness, encoding="utf-8")
    if run.violates(kind):
        compilers = Compilers((CLANG,), _NO_GCC)
        return CompiledReplay(True, run.ending, uncertain, compilers, supply, run.fault_of(kind))
    uncertain = uncertain or run.why_not(kind) or (None if run.access else _silent(program))
    return CompiledReplay(False, run.ending, uncertain, supply=supply, memory=run.fault)


def _silent(program: Program) -> str | None:
    """Return why the compiled program may miss an invalid access, if it may."""
    ops = [edge.op for edge in program.edge.values()]
    if any(isinstance(op, Free) and op.silent for op in ops):
        return "Clang does not mark where the block of a local object ends"
    if any(site.text.startswith(ELEMENT) for site in program.errors):
        return "the compiled program does not check which elements vectors have"
    addresses = [term for op in ops for term in terms(op) if term.sort is INT]
    sorts = [each.args[0].sort for each in postorder(*addresses) if each.kind is Kind.TO_INT]
    cut = any(isinstance(sort, MachineSort) and sort.width > program.pointer_bits for sort in sorts)
    return "compilers cut an index that is wider than a pointer" if cut else None


@dataclass(slots=True)
class _Replays:
    """The replays of one trace by the programs of both compilers. `uncertain` says why the run depends on
    more than the inputs of the trace, if it does."""

    program: Program
    wanted: Wanted
    arguments: Sequence[str]
    budget: Budget
    kind: str
    uncertain: str | None

    def run(self, directory: Path, keep: Path | None) -> CompiledReplay:
        """Replay the trace by Clang's program, and by that of gcc if the first result is conclusive."""
        builds = self._builds(directory)
        try:
            built, ended = self._ended(builds, directory, Compiler.CLANG)
            if ended.code == ExitCode.UNCONFINED:
                self.wanted = replace(self.wanted, defines=(UNCONFINED,))
                builds = self._builds(directory)
                built, ended = self._ended(builds, directory, Compiler.CLANG)
        except NotBuilt as error:
            return CompiledReplay(False, "not run", str(error))
        if keep is not None:
            keep.write_text(built.harness, encoding="utf-8")
        result = _judged(ended, self.kind, self.uncertain, built.missing)
        if not (result.confirmed or result.disagrees):
            return result
        return replace(result, compilers=self._compilers(result, builds, directory))

    def _compilers(self, clang: CompiledReplay, builds: Builds, directory: Path) -> Compilers:
        """Return the compilers whose programs reach the error; gcc's program is built and run for this."""
        agreed = (CLANG,) if clang.confirmed else ()
        absent = no_gcc(self.program)
        if absent:
            return Compilers(agreed, absent)
        try:
            built, ended = self._ended(builds, directory, Compiler.GCC)
        except NotBuilt as error:
            return Compilers(agreed, str(error))
        gcc = _judged(ended, self.kind, self.uncertain, built.missing)
        if gcc.confirmed:
            return Compilers((*agreed, GCC))
        if ended.code is None or (gcc.why_not is not None and self.uncertain is None):
            return Compilers(agreed, gcc.why_not or gcc.ending)
        return Compilers(agreed, differs=gcc.ending)

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


def _judged(ended: Ended, kind: str, uncertain: str | None, missing: Sequence[str]) -> CompiledReplay:
    """Return the result of a replay from the exit code of the program."""
    if ended.code is None:
        return CompiledReplay(False, "not finished", f"the compiled program did not finish: {ended.limit}")
    noted, code = ended.code >= NOTED, ended.code & ~NOTED if ended.code > 0 else ended.code
    if kind in CHECKS:
        confirmed = code in CHECK_CODES[kind]
    else:
        confirmed = code == (ExitCode.ASSERTION if kind == "assertion" else ExitCode.ERROR)
    if code < 0:
        ending = f"it was ended by {signal.Signals(-code).name}"
    else:
        ending = ENDINGS.get(code, f"it ended with exit code {code}")
    if not confirmed and uncertain is None:
        if code == ExitCode.NO_MEMORY:
            uncertain = "the compiled program ran out of memory"
        elif code == ExitCode.NO_STACK:
            uncertain = "the compiled program ran out of stack"
        elif missing and (noted or code < 0 or code == ExitCode.CRASHED):
            uncertain = f"the program uses functions that are not defined: {', '.join(missing[:5])}"
    return CompiledReplay(confirmed, ending, uncertain)


# ----------------------------------------------------------------------------------- the inputs


class _TracedInputs(TraceInputs):
    """The inputs of a trace, recorded as a run asks for them. New objects contain zeros in the compiled
    program as well (by compiler flags and runtime.c); a harness can give other contents to those on the
    heap."""

    def __init__(self, program: Program, trace: Trace) -> None:
        super().__init__(program, trace)
        self.supply = Supply()
        heap = [n for n, e in program.edge.items() if isinstance(e.op, Alloc) and e.op.storage == "heap"]
        recorded = {n: _Recorded(self.objects.get(n, ()), self.supply.contents) for n in heap}
        self.contents = cast(Contents, {**self.objects, **recorded})
        self._program = program
        self._has_argc = False
        self._scanned: Scan | None = None  # the last call

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        return self.values(edge, occurrence, targets)[0]

    def values(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[tuple[Datum, ...], bool]:
        """Return the values, and whether the compiled program certainly gets the same."""
        values = super().havoc(edge, occurrence, targets)
        step, value = self._program.edge[edge], values[0] if len(values) == 1 else None
        name = step.op.function if isinstance(step.op, Havoc) else None
        if not isinstance(value, int):
            return values, False
        if name is not None:
            self._record(name, int(value), targets[0])
            return values, is_input(name)
        is_argc = _is_supplied(step) and not self._has_argc
        if is_argc:
            self.supply.argc, self._has_argc = int(value), True
        return values, is_argc

    def _record(self, name: str, value: int, target: Expr) -> None:
        if name.startswith(SCAN):
            self._scanned = Scan(value)
            self.supply.scans.setdefault(name.removeprefix(SCAN), []).append(self._scanned)
        elif name == SCANNED:
            assert self._scanned is not None
            assert isinstance(target.sort, MachineSort)
            self._scanned.numbers.append((target.sort.width // 8, value))
        else:
            self.supply.values.setdefault(name, []).append(value)
            if (format := self._program.formats.get(target)) is not None:
                self.supply.formats[name] = format


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The contents of new objects, and then no bytes for further ones. Those that a run takes are `taken`."""

    objects: Sequence[bytes]
    taken: list[bytes]

    def __iter__(self) -> Iterator[bytes]:
        for first in chain(self.objects, repeat(b"")):
            self.taken.append(first)
            yield first


def _is_supplied(step: Edge) -> bool:
    """Return whether a harness can supply the values of a step: those of an input function and `argc`."""
    name = step.op.function if isinstance(step.op, Havoc) else None
    return is_input(name) if name is not None else isinstance(step.op, Havoc) and ARGUMENT in step.text


class _CertainInputs(NoInputs):
    """The inputs of a trace, where a run must not use any value that a harness cannot supply."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self.traced = _TracedInputs(program, trace)
        self.contents = self.traced.contents
        self._program = program

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values, certain = self.traced.values(edge, occurrence, targets)
        text = self._program.edge[edge].text
        return values if certain else tuple(unknown(f"`{text or t.name}`") for t in targets)


def _supply(program: Program, trace: Trace, budget: Budget) -> tuple[Supply, str | None]:
    """Return the values that input functions must return, in order, and why the run depends on more."""
    compiled = compile_program(program)
    certain = _CertainInputs(program, trace)
    try:
        run(compiled, certain, budget=budget)
    except Nondeterministic as error:
        inputs = _TracedInputs(program, trace)
        run(compiled, inputs, budget=budget)
        return inputs.supply, str(error)
    return certain.traced.supply, _contents(program, certain.traced.objects)


def _contents(program: Program, contents: Contents) -> str | None:
    """Return that the run needs first contents of an object, which the compiled program may not get, for the
    order of its allocations may differ from that of the interpreter; else None."""
    for edge, objects in contents.items():
        op = program.edge[edge].op
        if isinstance(op, Alloc) and any(map(any, objects)):
            return f"the run depends on the contents of `{op.name}` before the first write to it"
    return None

"""A trace of a C program replayed by the program itself, compiled.

The program is compiled by the Clang that read it, linked with a harness that supplies the trace's inputs,
and run under limits. It needs no C library: start, end and the plain library functions are in runtime.c;
only for a few functions that change nothing outside the program, a C library is linked. Whatever else the
program calls without defining it does nothing here: no file is touched.

The compiled program must reach the error if the run depends on nothing but the inputs of the trace. That
is what the interpreter finds out first: every other value (uninitialised variables, addresses, results of
functions nobody defines) is one that must not be looked at.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from certus.core.budget import Budget
from certus.core.evidence import Trace
from certus.core.program import Alloc, Havoc, Program
from certus.core.terms import Expr
from certus.core.values import Datum
from certus.system.clang import NO_TABLES, OLD_C, TARGETS, ClangMissing, absolute_paths, find_clang
from certus.system.confined import Ended, run_confined
from certus.system.elf import NotAnObject, Symbols, symbols
from certus.system.tools import ToolFailed, ToolResult, find_tool, run_tool
from certus.validate.compile import compile_program
from certus.validate.harness import (
    ARGUMENT,
    ENDINGS,
    NOTED,
    Code,
    Supply,
    error_function,
    harness,
    hooks,
    is_builtin,
    is_input,
    stubs,
)
from certus.validate.inputs import Contents, NoInputs, Nondeterministic, TraceInputs, unknown
from certus.validate.interpreter import run

_SECONDS: Final = 10.0  # for the compiled program, at most
_MEMORY: Final = 3 << 30
_FLAGS: Final = (
    *("-x", "c", "-std=gnu17", "-O0", "-w", "-fwrapv", "-fno-strict-aliasing"),
    *(
        "-fno-delete-null-pointer-checks",
        "-fno-stack-protector",
        "-fno-pic",
        "-fno-pie",
        "-fbracket-depth=100000",
    ),
    "-ftrivial-auto-var-init=zero",  # one of the values an uninitialised variable may have
)
# Makes a definition of each plain `inline` function; without it a program may have none.
OLD_INLINE: Final = "-fgnu89-inline"
_OWN_FLAGS: Final = ("-ffreestanding", "-fno-builtin")
# By the kind of error: flags that make it end the program, by a signal.
_TRAPS: Final = {
    "overflow": ("-fno-wrapv", "-fsanitize=signed-integer-overflow,shift", "-fsanitize-trap=all"),
    "division-by-zero": ("-fsanitize=integer-divide-by-zero", "-fsanitize-trap=all"),
}
_TRAP_SIGNALS: Final = (-signal.SIGILL, -signal.SIGTRAP, -signal.SIGFPE)
# What a C library may be linked for: functions without effect outside the program.
_LIBRARY: Final = (
    *("snprintf", "sprintf", "vsnprintf", "sscanf", "__isoc99_sscanf", "__isoc23_sscanf"),
    *(
        "atoi",
        "atol",
        "atoll",
        "strtol",
        "strtoul",
        "strtoll",
        "strtoull",
        "__isoc23_strtol",
        "__isoc23_strtoul",
    ),
    *("strcasecmp", "strncasecmp", "qsort", "bsearch"),
)


@dataclass(frozen=True, slots=True)
class CompiledReplay:
    """Whether the compiled program reached the error, and how it ended. `why_not` says why it may end
    otherwise than the trace, or could not be run at all; if it is None it had to confirm the trace."""

    confirmed: bool
    ending: str
    why_not: str | None = None

    @property
    def disagrees(self) -> bool:
        return not self.confirmed and self.why_not is None


class _Impossible(Exception):
    """The program cannot be compiled, linked or run; the message says why."""


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
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        try:
            built = _Build(program, trace, arguments, supply, Path(directory))
            if keep is not None:
                keep.write_text(built.harness, encoding="utf-8")
            executable = built.link()
            left = budget.remaining()
            seconds = _SECONDS if left is None else min(_SECONDS, left)
            ended = run_confined(executable, directory=Path(directory), seconds=seconds, memory=_MEMORY)
        except (_Impossible, ToolFailed, ClangMissing, NotAnObject) as error:
            return CompiledReplay(False, "not run", str(error))
    return _judged(ended, program.error_at(program.location[trace.error]).kind, unsure, built.missing)


def _judged(ended: Ended, kind: str, unsure: str | None, missing: Sequence[str]) -> CompiledReplay:
    if ended.code is None:
        return CompiledReplay(False, "not finished", f"the compiled program did not end within {ended.limit}")
    noted, code = ended.code >= NOTED, ended.code & ~NOTED if ended.code > 0 else ended.code
    if kind in _TRAPS:
        confirmed = code in _TRAP_SIGNALS or code == Code.DIVIDED_BY_ZERO
    else:
        confirmed = code == (Code.ASSERTION if kind == "assertion" else Code.ERROR)
    if code < 0:
        ending = f"it was ended by {signal.Signals(-code).name}"
    else:
        ending = ENDINGS.get(code, f"it ended with exit code {code}")
    if not confirmed and unsure is None:
        if code == Code.NO_MEMORY:
            unsure = "the compiled program ran out of memory"
        elif missing and (noted or code < 0):
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


# --------------------------------------------------------------------------- compiling and linking


class _Build:
    """The program with its harness, in a directory. `missing` are names that nobody defines."""

    def __init__(
        self,
        program: Program,
        trace: Trace,
        arguments: Sequence[str],
        supply: Supply,
        directory: Path,
    ) -> None:
        self._clang = find_clang()
        self._model = "ILP32" if program.pointer_bits == 32 else "LP64"
        self._directory = directory
        self._source = program.source
        site = program.error_at(program.location[trace.error])
        self._traps = _TRAPS.get(site.kind, ())
        folder = Path(program.file).absolute().parent
        user = (NO_TABLES, "-iquote", str(folder), *absolute_paths(arguments), *self._clang.include_flags)
        error = error_function(program, trace.error)
        found = self._compiled("program", program.source, user)
        if any(name in program.procedures for name in found.undefined):
            user = (*user, OLD_INLINE)
            found = self._compiled("program", program.source, user)
        hooked = hooks(error, found.functions)
        if hooked:
            self._compiled("program", program.source + hooked, ("-finstrument-functions", *user))
        self.harness = harness(supply, found.undefined, error, about=f"{site.kind}: {site.text}")
        supplied = self._compiled("harness", self.harness, _OWN_FLAGS)
        runtime = files("certus.validate").joinpath("runtime.c").read_text(encoding="utf-8")
        plain = self._compiled("runtime", runtime, _OWN_FLAGS)
        unresolved = [n for n in found.undefined if n not in (*supplied.functions, *plain.functions, *_DATA)]
        self._library = self._model == "LP64" and any(n in _LIBRARY for n in unresolved) and _system_linker()
        if self._library:
            self._compiled("runtime", runtime, (*_OWN_FLAGS, "-DCERTUS_LIBC"))
        self.missing = [n for n in unresolved if not (self._library and n in _LIBRARY)]
        unknown_builtins = [name for name in self.missing if is_builtin(name)]
        if unknown_builtins:
            raise _Impossible(f"the compiler does not know the builtin function `{unknown_builtins[0]}`")
        self._compiled("stubs", stubs(self.missing, program.source), _OWN_FLAGS)

    def _compiled(self, name: str, text: str, flags: Sequence[str]) -> Symbols:
        source, made = self._directory / f"{name}.c", self._directory / f"{name}.o"
        source.write_text(text, encoding="utf-8", errors="surrogateescape")
        tool, *command = self._clang.command
        target = f"--target={TARGETS[self._model]}"
        result = self._run(
            tool,
            (*command, target, *_FLAGS, *OLD_C, *self._traps, *flags, "-c", str(source), "-o", str(made)),
        )
        if result.code != 0:
            raise _Impossible(f"the program could not be compiled: {_first(result)}")
        return symbols(made.read_bytes())

    def link(self) -> Path:
        made = self._directory / "program"
        parts = [str(self._directory / f"{n}.o") for n in ("program", "harness", "runtime", "stubs")]
        tool, *command = self._clang.command
        if self._library:
            compiler, linker = find_tool("gcc"), find_tool("ld")
            assert compiler is not None
            assert linker is not None
            flags = (f"-B{linker.parent}", "-no-pie", "-Wl,--wrap=main", "-o", str(made))
            result = self._run(str(compiler), (*flags, *parts))
        elif Path(tool).name.startswith("zig"):
            result = self._run(tool, ("ld.lld", "-static", "-o", str(made), *parts))
        else:
            target = f"--target={TARGETS[self._model]}"
            alone = (target, "-nostdlib", "-static", "-no-pie", "-o", str(made))
            result = self._run(tool, (*command, *alone, *parts))
        if result.code != 0:
            raise _Impossible(f"the program could not be linked: {_first(result)}")
        return made

    def _run(self, tool: str, arguments: Sequence[str]) -> ToolResult:
        return run_tool(Path(tool), arguments)


_DATA: Final = ("stdout", "stderr", "stdin")  # in runtime.c and in every C library


def _system_linker() -> bool:
    return find_tool("gcc") is not None and find_tool("ld") is not None


def _first(result: ToolResult) -> str:
    """The first line with an error, of what a tool said."""
    said = [line.strip() for line in result.errors.decode(errors="replace").splitlines() if line.strip()]
    return next((line for line in said if "error" in line), said[0] if said else f"exit code {result.code}")

"""Compile a C program with a harness into one executable that runs confined and needs no C library.

Clang compiles the program with the flags that the front end read it with, so that model and binary see the
same text after preprocessing. Start, end and confinement are in start.c, the plain library functions in
runtime.c. A C library is linked only for a few functions that change nothing outside the program. Every
other function that nobody defines is a stub that does nothing and notes that it was called: no file is
touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from certus.core.errors import CertusError
from certus.core.program import Program
from certus.system.clang import COMMON, TARGETS, ClangMissing, absolute_paths, find_clang
from certus.system.elf import NotAnObject, Symbols, symbols
from certus.system.tools import ToolFailed, ToolResult, find_tool, run_tool
from certus.validate.harness import hooks, is_builtin, stubs

_FLAGS: Final = (
    *("-w", "-fwrapv", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks"),
    "-ftrivial-auto-var-init=zero",  # one of the values an uninitialised variable may have
)
# Makes a definition of each plain `inline` function, without which a program may have none. The macros stay
# as they are without it.
OLD_INLINE: Final = ("-fgnu89-inline", "-U__GNUC_GNU_INLINE__", "-D__GNUC_STDC_INLINE__=1")
_OWN_FLAGS: Final = ("-x", "c", "-std=gnu17", "-O0", "-fno-pic", "-fno-pie", "-ffreestanding", "-fno-builtin")
_LIBC: Final = "-DCERTUS_LIBC"
RUNS: Final = "-DCERTUS_RUNS"  # the program runs as often as its table says
UNCONFINED: Final = "-DCERTUS_UNCONFINED"
_NO_ASSEMBLY: Final = "-fno-gnu-inline-asm"  # Clang refuses what could make system calls
# What a C library may be linked for: functions without effect outside the program.
_LIBRARY: Final = (
    *("snprintf", "sprintf", "vsnprintf", "sscanf", "__isoc99_sscanf", "__isoc23_sscanf"),
    *("atoi", "atol", "atoll", "strtol", "strtoul", "strtoll", "strtoull"),
    *("__isoc23_strtol", "__isoc23_strtoul", "strcasecmp", "strncasecmp", "qsort", "bsearch"),
)
_DATA: Final = ("stdout", "stderr", "stdin")  # in runtime.c and in every C library


class NotBuilt(CertusError):
    """The program cannot be compiled or linked; the message says why."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a build is for. `errors`: the functions whose entry ends the program, with their exit codes.
    `checks`: flags that make operations end it. `defines`: how it starts. `harness`: from the names that
    the program does not define to the text that supplies them. `unknown`: functions that only have the name
    of one in runtime.c."""

    errors: Mapping[str, int]
    harness: Callable[[Sequence[str]], str]
    checks: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Built:
    """An executable. `missing` are names for which there is only a stub."""

    executable: Path
    missing: tuple[str, ...]
    harness: str


def build(program: Program, wanted: Wanted, *, arguments: Sequence[str], directory: Path) -> Built:
    """Build the program in `directory`; `arguments` are the user's flags for Clang. Raises `NotBuilt`."""
    try:
        return _Build(program, wanted, directory).run(arguments)
    except (ToolFailed, ClangMissing, NotAnObject) as error:
        raise NotBuilt(str(error)) from error


class _Build:
    """One build: the objects `program`, `harness`, `runtime` and, if a name is missing, `stubs`, linked."""

    def __init__(self, program: Program, wanted: Wanted, directory: Path) -> None:
        self._program = program
        self._wanted = wanted
        self._directory = directory
        self._clang = find_clang()
        self._target = f"--target={TARGETS['ILP32' if program.pointer_bits == 32 else 'LP64']}"

    def run(self, arguments: Sequence[str]) -> Built:
        program, wanted = self._program, self._wanted
        own = (*_OWN_FLAGS, *wanted.defines)
        compiled = self._compile_program(arguments)
        harness = wanted.harness(compiled.undefined)
        given = [*self._object("harness", harness, own).functions, *_DATA]
        runtime = self._object("runtime", runtime_text(), own).functions
        given += [name for name in runtime if name not in wanted.unknown]
        unresolved = [name for name in compiled.undefined if name not in given]
        library = program.pointer_bits == 64 and any(n in _LIBRARY for n in unresolved) and _has_linker()
        if library:
            self._object("runtime", _text("start.c"), (*own, _LIBC))
        missing = [n for n in unresolved if not (library and n in _LIBRARY)]
        parts = ["program", "harness", "runtime"]
        builtins = [name for name in missing if is_builtin(name)]
        if builtins:
            raise NotBuilt(f"the compiler does not know the builtin function `{builtins[0]}`")
        if missing:
            self._object("stubs", stubs(missing, program.source), own)
            parts.append("stubs")
        executable = self._link([str(self._directory / f"{part}.o") for part in parts], library=library)
        return Built(executable, tuple(missing), harness)

    def _compile_program(self, arguments: Sequence[str]) -> Symbols:
        """Compile the user's file, and again if that shows what is missing: definitions of functions that
        are only `inline`, or code that sees the entry of an error function with a body."""
        program, wanted = self._program, self._wanted
        folder = Path(program.file).absolute().parent
        flags = [*COMMON, *_FLAGS, *wanted.checks, "-iquote", str(folder), *absolute_paths(arguments)]
        flags += self._clang.include_flags
        if UNCONFINED in wanted.defines:
            flags.append(_NO_ASSEMBLY)
        text = f'# 1 "{_quoted(program.file)}"\n{program.source}'  # for __FILE__
        found = self._object("program", text, flags)
        if any(name in program.procedures for name in found.undefined):
            flags += OLD_INLINE
            found = self._object("program", text, flags)
        hooked = hooks(wanted.errors, found.functions)
        if hooked:
            self._object("program", text + hooked, ("-finstrument-functions", *flags))
        return found

    def _object(self, name: str, text: str, flags: Sequence[str]) -> Symbols:
        source, made = self._directory / f"{name}.c", self._directory / f"{name}.o"
        source.write_text(text, encoding="utf-8", errors="surrogateescape")
        tool, *command = self._clang.command
        result = run_tool(Path(tool), (*command, self._target, *flags, "-c", str(source), "-o", str(made)))
        if result.code != 0:
            raise NotBuilt(f"the program could not be compiled: {_first(result)}")
        return symbols(made.read_bytes())

    def _link(self, parts: Sequence[str], *, library: bool) -> Path:
        made = self._directory / "program"
        tool, *command = self._clang.command
        if library:
            compiler, linker = find_tool("gcc"), find_tool("ld")
            assert compiler is not None
            assert linker is not None
            flags = (f"-B{linker.parent}", "-no-pie", "-Wl,--wrap=main", "-o", str(made))
            result = run_tool(compiler, (*flags, *parts))
        elif Path(tool).name.startswith("zig"):
            result = run_tool(Path(tool), ("ld.lld", "-static", "-o", str(made), *parts))
        else:
            alone = (self._target, "-nostdlib", "-static", "-no-pie", "-o", str(made))
            result = run_tool(Path(tool), (*command, *alone, *parts))
        if result.code != 0:
            raise NotBuilt(f"the program could not be linked: {_first(result)}")
        return made


def runtime_text() -> str:
    """Start, end and library functions, as one text: runtime.c begins by declaring what start.c defines."""
    library = _text("runtime.c")
    return _text("start.c") + library[library.index("/* ---") :]


def _text(name: str) -> str:
    return files("certus.validate").joinpath(name).read_text(encoding="utf-8")


def _quoted(file: str) -> str:
    """The absolute path of the file, as a line marker has it."""
    return str(Path(file).absolute()).replace("\\", "\\\\").replace('"', '\\"')


def _has_linker() -> bool:
    return find_tool("gcc") is not None and find_tool("ld") is not None


def _first(result: ToolResult) -> str:
    """The first line with an error, of what a tool said."""
    said = [line.strip() for line in result.errors.decode(errors="replace").splitlines() if line.strip()]
    return next((line for line in said if "error" in line), said[0] if said else f"exit code {result.code}")

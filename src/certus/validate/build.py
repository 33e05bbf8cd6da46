"""Compile a C program with a harness into one executable that runs confined and needs no C library.

Clang compiles the program with the flags that the front end read it with, so that model and binary see the
same text after preprocessing. Start, end and confinement are in start.c, the plain library functions in
runtime.c. A C library is linked only for a few functions that change nothing outside the program. Every
other function that nobody defines is a stub that does nothing and notes that it was called: no file is
touched.

gcc may compile the same program for LP64, from the text that Clang has preprocessed. All but the program
itself stays compiled by Clang, the confinement above all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import Final

from certus.core.errors import CertusError
from certus.core.program import Program
from certus.system.clang import COMMON, TARGETS, Clang, ClangMissing, absolute_paths, find_clang
from certus.system.elf import NotAnObject, Symbols, symbols
from certus.system.gcc import FLAGS as GCC_FLAGS
from certus.system.gcc import IS_GCC, NOT_PREPROCESSED, find_gcc
from certus.system.gcc import TRAP as GCC_TRAP
from certus.system.tools import ToolFailed, ToolResult, find_tool, run_tool
from certus.validate.harness import hooks, is_builtin, stubs

_FLAGS: Final = (
    *("-fwrapv", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks"),
    "-ftrivial-auto-var-init=zero",  # one of the values an uninitialised variable may have
)
# Makes a definition of each plain `inline` function, without which a program may have none. The macros stay
# as they are without it.
OLD_INLINE: Final = ("-fgnu89-inline", "-U__GNUC_GNU_INLINE__", "-D__GNUC_STDC_INLINE__=1")
_TRAPS: Final = {"-fsanitize-trap=all": GCC_TRAP}  # the same flag of Clang and of gcc
_SECONDS: Final = 30.0  # for a tool, at most
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


class Compiler(Enum):
    """Who compiles the program."""

    CLANG = "clang"
    GCC = "gcc"


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


class Builds:
    """The executables of one program in one directory, by one compiler or by both. `arguments` are the
    user's flags for Clang's preprocessor.

    An executable has the objects `program`, `harness`, `runtime` and, if a name is missing, `stubs`."""

    def __init__(
        self, program: Program, wanted: Wanted, *, arguments: Sequence[str] = (), directory: Path
    ) -> None:
        self._program = program
        self._wanted = wanted
        self._arguments = arguments
        self._directory = directory
        self._objects: dict[str, tuple[str, tuple[str, ...], Symbols]] = {}  # by name: how they were made
        self._target = f"--target={TARGETS['ILP32' if program.pointer_bits == 32 else 'LP64']}"
        self._clang: Clang
        self._seconds = _SECONDS

    def build(self, compiler: Compiler = Compiler.CLANG, *, seconds: float = _SECONDS) -> Built:
        """Build the program; every tool may take so many seconds. Raises `NotBuilt`."""
        self._seconds = seconds
        try:
            self._clang = find_clang()
            return self._build(compiler)
        except (ToolFailed, ClangMissing, NotAnObject) as error:
            raise NotBuilt(str(error)) from error

    def _build(self, compiler: Compiler) -> Built:
        program, wanted = self._program, self._wanted
        own = (*_OWN_FLAGS, *wanted.defines)
        compiled = self._compile_program(compiler)
        harness = wanted.harness(compiled.undefined)
        given = [*self._object("harness", harness, own).functions, *_DATA]
        runtime = self._object("runtime", runtime_text(), own).functions
        given += [name for name in runtime if name not in wanted.unknown]
        unresolved = [name for name in compiled.undefined if name not in given]
        library = program.pointer_bits == 64 and any(n in _LIBRARY for n in unresolved) and _has_linker()
        if library:
            self._object("start", _text("start.c"), (*own, _LIBC))
        missing = [n for n in unresolved if not (library and n in _LIBRARY)]
        parts = [_program_name(compiler), "harness", "start" if library else "runtime"]
        builtins = [name for name in missing if is_builtin(name)]
        if builtins:
            raise NotBuilt(f"the compiler does not know the builtin function `{builtins[0]}`")
        if missing:
            self._object("stubs", stubs(missing, program.source), own)
            parts.append("stubs")
        made = self._directory / f"{_program_name(compiler)}-linked"
        self._link(made, [str(self._directory / f"{part}.o") for part in parts], library=library)
        return Built(made, tuple(missing), harness)

    def _compile_program(self, compiler: Compiler) -> Symbols:
        """Compile the user's file, and again if that shows what is missing: definitions of functions that
        are only `inline`, or code that sees the entry of an error function with a body."""
        name, program = _program_name(compiler), self._program
        text, flags = self._for_clang() if compiler is Compiler.CLANG else self._for_gcc()
        found = self._object(name, text, flags, compiler)
        if any(each in program.procedures for each in found.undefined):
            flags = (*flags, *OLD_INLINE)
            found = self._object(name, text, flags, compiler)
        hooked = hooks(self._wanted.errors, found.functions)
        if hooked:
            self._object(name, text + hooked, ("-finstrument-functions", *flags), compiler)
        return found

    def _for_clang(self) -> tuple[str, tuple[str, ...]]:
        """The user's text, and the flags that Clang compiles it with."""
        flags = [*COMMON, "-w", *_FLAGS, *self._wanted.checks, *self._finding_headers()]
        if UNCONFINED in self._wanted.defines:
            flags.append(_NO_ASSEMBLY)
        return f'# 1 "{_quoted(self._program.file)}"\n{self._program.source}', tuple(flags)  # for __FILE__

    def _finding_headers(self) -> tuple[str, ...]:
        folder = Path(self._program.file).absolute().parent
        user = absolute_paths(self._arguments)
        return ("-iquote", str(folder), *user, *self._clang.include_flags)

    def _for_gcc(self) -> tuple[str, tuple[str, ...]]:
        """The text as Clang has preprocessed it, and the flags that gcc compiles it with. Where programs are
        not confined Clang must accept it first: gcc cannot be asked to refuse inline assembly."""
        if UNCONFINED in self._wanted.defines:
            self._object("accepted", *self._for_clang())
        source, made = self._directory / "program.c", self._directory / "program.i"
        source.write_text(self._for_clang()[0], encoding="utf-8", errors="surrogateescape")
        flags = (*(flag for flag in COMMON if flag not in NOT_PREPROCESSED), *self._finding_headers())
        self._run_clang((*flags, "-E", str(source), "-o", str(made)))
        text = IS_GCC + made.read_text(encoding="utf-8", errors="surrogateescape")
        checks = tuple(_TRAPS.get(flag, flag) for flag in self._wanted.checks)
        return text, (*GCC_FLAGS, *_FLAGS, *checks)

    def _object(
        self, name: str, text: str, flags: Sequence[str], compiler: Compiler = Compiler.CLANG
    ) -> Symbols:
        """Compile `text` to the object of that name, unless it is there."""
        known = self._objects.get(name)
        if known is not None and known[:2] == (text, tuple(flags)):
            return known[2]
        source, made = self._directory / f"{name}.c", self._directory / f"{name}.o"
        source.write_text(text, encoding="utf-8", errors="surrogateescape")
        command = (*flags, "-c", str(source), "-o", str(made))
        if compiler is Compiler.CLANG:
            self._run_clang(command)
        else:
            self._run_gcc(command)
        found = symbols(made.read_bytes())
        self._objects[name] = (text, tuple(flags), found)
        return found

    def _run_clang(self, arguments: Sequence[str]) -> None:
        self._run_compiler(self._clang.command, (self._target, *arguments))

    def _run_gcc(self, arguments: Sequence[str]) -> None:
        found = find_gcc()
        if found is None:
            raise NotBuilt("there is no gcc")
        self._run_compiler(found.command, arguments)

    def _run_compiler(self, command: Sequence[str], arguments: Sequence[str]) -> None:
        tool, *first = command
        result = run_tool(Path(tool), (*first, *arguments), seconds=self._seconds)
        if result.code != 0:
            raise NotBuilt(f"the program could not be compiled: {_first(result)}")

    def _link(self, made: Path, parts: Sequence[str], *, library: bool) -> None:
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


def no_gcc(program: Program) -> str:
    """Return why gcc cannot compile the program, as far as that is known without trying; else nothing."""
    if program.pointer_bits != 64:
        return "it compiles for LP64 only"
    return "" if find_gcc() is not None else "it is not installed"


def _program_name(compiler: Compiler) -> str:
    """How the files of the program are called that a compiler has made."""
    return "program" if compiler is Compiler.CLANG else f"program-{compiler.value}"


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

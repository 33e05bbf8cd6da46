"""Compile a C program with a harness into one executable that runs confined and needs no C library.

Clang compiles the program with the same flags as the front end, so that model and binary see the same text
after preprocessing. start.c contains start, end and confinement, runtime.c plain library functions, math.c
those of <math.h>. A C library is linked only for a few functions without effect outside the program. Every
other undefined function is a stub that does nothing and notes the call, so no file is touched.

gcc may compile the same program for LP64, from the text that Clang has preprocessed. Clang still compiles
everything but the program itself, in particular the confinement.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from certus.check.replay.harness import hooks, is_builtin, stubs
from certus.core.errors import CertusError
from certus.core.program import Program, SourceText
from certus.system.tools import (
    GCC_FLAGS,
    GCC_TRAP,
    IS_GCC,
    LANGUAGE,
    TARGETS,
    TRAPPING,
    Clang,
    ClangMissing,
    ToolFailed,
    ToolResult,
    absolute_paths,
    find_clang,
    find_gcc,
    find_tool,
    run_tool,
)

_CLANG_FLAGS: Final = (
    *(*LANGUAGE, "-O0", "-fno-stack-protector"),
    *("-fsanitize=unreachable", "-fsanitize-trap=unreachable"),  # unreachable code ends an execution
)
_FLAGS: Final = (
    *("-fwrapv", "-fno-strict-aliasing", "-fno-delete-null-pointer-checks"),
    "-ftrivial-auto-var-init=zero",  # 0 is one of the values of an uninitialised variable
    "-ffp-contract=off",  # each operation on floating-point numbers rounds
    # One thread runs, and nothing prepares storage of threads.
    *("-D__thread=", "-D_Thread_local=", "-Dthread_local="),
)
# Emits a definition of each plain `inline` function, since a program may have no other. The macros do not
# change.
OLD_INLINE: Final = ("-fgnu89-inline", "-U__GNUC_GNU_INLINE__", "-D__GNUC_STDC_INLINE__=1")
_SECONDS: Final = 30.0  # for a tool, at most
_OWN_FLAGS: Final = ("-x", "c", "-std=gnu17", "-O0", "-fno-pic", "-fno-pie", "-ffreestanding", "-fno-builtin")
_LIBC: Final = "-DCERTUS_LIBC"
RUNS: Final = "-DCERTUS_RUNS"  # the program runs once for each entry of its table
UNCONFINED: Final = "-DCERTUS_UNCONFINED"
_SANITIZED: Final = "-DCERTUS_SANITIZED"
# Clang calls sanitizer.c before every access to memory, instead of checking it in place.
_ADDRESS: Final = (
    *("-fsanitize=address", "-fsanitize-address-use-after-scope"),
    "-fsanitize-address-use-after-return=always",
    *("-mllvm", "-asan-instrumentation-with-call-threshold=0"),
    *("-mllvm", "-asan-max-inline-poisoning-size=0"),
)
# It also calls sanitizer.c where an address overflows, where an access leaves the object it names, and where
# the length of an array is not positive. The line tables give the source lines of the calls.
_POINTERS: Final = (
    "-fsanitize=pointer-overflow,local-bounds,vla-bound",
    "-fno-sanitize-trap=pointer-overflow,local-bounds,vla-bound",
    "-fsanitize-recover=pointer-overflow,local-bounds,vla-bound",
    *("-gline-tables-only", "-gdwarf-4"),
    "-D__pure__=__unused__",  # Clang drops a call of a pure function if its result is not used: `strlen(s);`
)
_SANITIZER_FLAGS: Final = (_SANITIZED, "-fno-omit-frame-pointer")
_OF_SANITIZERS: Final = ("__asan_", "__ubsan_")  # functions that only sanitizer.c can define
_NO_ASSEMBLY: Final = "-fno-gnu-inline-asm"  # Clang refuses code that could make system calls
# Functions for which a C library may be linked: they have no effect outside the program.
_LIBRARY: Final = (
    *("snprintf", "sprintf", "vsnprintf", "sscanf", "__isoc99_sscanf", "__isoc23_sscanf"),
    *("atoi", "atol", "atoll", "strtol", "strtoul", "strtoll", "strtoull"),
    *("__isoc23_strtol", "__isoc23_strtoul", "strcasecmp", "strncasecmp", "qsort", "bsearch"),
)
_DATA: Final = ("stdout", "stderr", "stdin")  # in runtime.c and in every C library


class NotBuilt(CertusError):
    """The program cannot be compiled or linked; the message says why."""


class Compiler(Enum):
    """The compiler of the program."""

    CLANG = "clang"
    GCC = "gcc"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The purpose of a build. `errors`: the functions whose entry ends the program, with their exit codes.
    `harness`: the text of the harness, from the names that the program does not define. `checks`: flags that
    make operations end the program. `defines`: macros for start.c. `unknown`: functions that must not use the
    definition in runtime.c. `sanitized`: whether Clang's program checks every access to memory."""

    errors: Mapping[str, int]
    harness: Callable[[Sequence[str]], str]
    checks: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    unknown: frozenset[str] = frozenset()
    sanitized: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """An executable. `missing` are the names that have only a stub."""

    executable: Path
    missing: tuple[str, ...]
    harness: str


@dataclass(slots=True)
class _Unit:
    """A file of the program: the name of its object file, the text to compile, and flags."""

    name: str
    text: str
    flags: tuple[str, ...]
    symbols: Symbols = field(default_factory=lambda: Symbols((), ()))


class Builds:
    """The executables of one program in one directory, by one or both compilers. `arguments` are the user's
    flags for Clang's preprocessor.

    An executable has the objects `program`, `harness`, `runtime` and, if a name is missing, `stubs`. A
    sanitized one also has `library`, the functions of runtime.c with checks: they must not be in the object
    that makes the checks."""

    def __init__(
        self, program: Program, wanted: Wanted, *, arguments: Sequence[str] = (), directory: Path
    ) -> None:
        self._program = program
        self.wanted = wanted
        self._arguments = arguments
        self._directory = directory
        self._objects: dict[str, tuple[str, tuple[str, ...], Symbols]] = {}  # by name: text, flags, symbols
        self._target = f"--target={TARGETS['ILP32' if program.pointer_bits == 32 else 'LP64']}"
        self._clang: Clang
        self._seconds = _SECONDS

    def build(self, compiler: Compiler = Compiler.CLANG, *, seconds: float = _SECONDS) -> Built:
        """Build the program; `seconds` limit each tool. Raises `NotBuilt`."""
        self._seconds = seconds
        try:
            self._clang = find_clang()
            return self._build(compiler)
        except (ToolFailed, ClangMissing, NotAnObject) as error:
            raise NotBuilt(str(error)) from error

    def _build(self, compiler: Compiler) -> Built:
        program, wanted = self._program, self.wanted
        own = (*_OWN_FLAGS, *wanted.defines, *((_SANITIZED, *_ADDRESS) if wanted.sanitized else ()))
        compiled = self._compile_program(compiler)
        harness = wanted.harness(compiled.undefined)
        defined = [*self._object("harness", harness, own).functions, *_DATA]
        runtime = self._runtime()
        defined += [name for name in runtime if name not in wanted.unknown]
        defined += compiled.weak  # a program may leave these undefined
        unresolved = [name for name in compiled.undefined if name not in defined]
        computes = any(name in _mathematical() and name not in wanted.unknown for name in unresolved)
        if computes:
            functions = self._object("math", _text("math.c"), own).functions
            defined += [name for name in functions if name not in wanted.unknown]
            unresolved = [name for name in unresolved if name not in defined]
        library = (
            not wanted.sanitized
            and program.pointer_bits == 64
            and any(n in _LIBRARY for n in unresolved)
            and _has_linker()
        )
        if library:
            self._object("start", _text("start.c"), (*own, _LIBC))
        missing = [n for n in unresolved if not (library and n in _LIBRARY)]
        parts = [_program_name(compiler), "harness", "start" if library else "runtime"]
        parts += ["math"] if computes else []
        if wanted.sanitized:
            parts.append("library")
        builtins = [name for name in missing if is_builtin(name) or name.startswith(_OF_SANITIZERS)]
        if builtins:
            raise NotBuilt(f"the compiler does not know the builtin function `{builtins[0]}`")
        if missing:
            self._object("stubs", stubs(missing, "\n".join(unit.text for unit in program.units)), own)
            parts.append("stubs")
        executable = self._directory / f"{_program_name(compiler)}-linked"
        self._link(executable, [str(self._directory / f"{part}.o") for part in parts], library=library)
        return Built(executable, tuple(missing), harness)

    def _runtime(self) -> tuple[str, ...]:
        """Compile start.c and runtime.c, with the checks of a sanitized program; return their functions."""
        flags: tuple[str, ...] = (*_OWN_FLAGS, *self.wanted.defines)
        if TRAPPING in self.wanted.checks:
            flags = (*flags, "-DCERTUS_OVERFLOW")
        if not self.wanted.sanitized:
            return self._object("runtime", runtime_text(), flags).functions
        start = _text("start.c") + _text("sanitizer.c") + _text("heap.c")
        library = _text("runtime.c") + _text("formats.c")
        return (
            *self._object("runtime", start, (*flags, *_SANITIZER_FLAGS)).functions,
            *self._object("library", library, (*flags, _SANITIZED, *_ADDRESS)).functions,
        )

    def _compile_program(self, compiler: Compiler) -> Symbols:
        """Compile the user's files. Compile some again if their functions are only `inline`, or if an error
        function has a body and needs a hook at its entry."""
        name, program = _program_name(compiler), self._program
        own = [f"-fno-builtin-{each}" for each in program.procedures if each.isidentifier()]  # `abs`, perhaps
        units: list[_Unit] = []
        for number, source in enumerate(program.units, 1):
            part = name if not program.others else f"{name}-{number}"
            text, flags = (self._for_clang if compiler is Compiler.CLANG else self._for_gcc)(source)
            units.append(_Unit(part, text, (*flags, *own)))
        joined = self._joined(name, units, compiler)
        if "fesetround" in joined.undefined:  # without the flag, compilers round constants to nearest
            for unit in units:
                unit.flags = (*unit.flags, "-frounding-math")
            joined = self._joined(name, units, compiler)
        missing = {each for each in joined.undefined if each in program.procedures}
        if missing:
            for unit in units:
                if not missing.isdisjoint(unit.symbols.undefined):
                    unit.flags = (*unit.flags, *OLD_INLINE)
            joined = self._joined(name, units, compiler, first=True)
        errors = {each: code for each, code in self.wanted.errors.items() if each not in program.procedures}
        hooked = [hooks(errors, unit.symbols.functions) for unit in units]
        for unit, added in zip(units, hooked, strict=True):
            if added:
                unit.text, unit.flags = unit.text + added, ("-finstrument-functions", *unit.flags)
        if any(hooked):
            self._joined(name, units, compiler, first=bool(missing))
        return joined

    def _joined(
        self, name: str, units: Sequence[_Unit], compiler: Compiler, *, first: bool = False
    ) -> Symbols:
        """Compile files to one object. With `first`, the linker takes the first of several definitions: each
        file that uses an `inline` function has one."""
        for unit in units:
            unit.symbols = self._object(unit.name, unit.text, unit.flags, compiler)
        if len(units) == 1:
            return units[0].symbols
        output = self._directory / f"{name}.o"
        parts = [str(self._directory / f"{unit.name}.o") for unit in units]
        self._run_linker(output, ("-r", *(("-z", "muldefs") if first else ()), *parts))
        return symbols(output.read_bytes())

    def _for_clang(self, source: SourceText) -> tuple[str, tuple[str, ...]]:
        """Return the user's text, and the flags for Clang."""
        flags = [*_CLANG_FLAGS, "-w", *_FLAGS, *self.wanted.checks, *self._finding_headers(source)]
        if self.wanted.sanitized:
            flags += [*_ADDRESS, *_POINTERS]
        if UNCONFINED in self.wanted.defines:
            flags.append(_NO_ASSEMBLY)
        return f'# 1 "{_quoted(source.file)}"\n{source.text}', tuple(flags)  # for __FILE__

    def _finding_headers(self, source: SourceText) -> tuple[str, ...]:
        folder = Path(source.file).absolute().parent
        user = absolute_paths(self._arguments)
        return ("-iquote", str(folder), *user, *self._clang.include_flags)

    def _for_gcc(self, source: SourceText) -> tuple[str, tuple[str, ...]]:
        """Return the text as Clang has preprocessed it, and the flags for gcc. If programs are not confined,
        Clang must accept the text first: gcc has no option to refuse inline assembly."""
        if UNCONFINED in self.wanted.defines:
            self._object("accepted", *self._for_clang(source))
        written, output = self._directory / "program.c", self._directory / "program.i"
        written.write_text(self._for_clang(source)[0], encoding="utf-8", errors="surrogateescape")
        flags = (*_CLANG_FLAGS, *self._finding_headers(source))
        self._run_clang((*flags, "-E", str(written), "-o", str(output)))
        text = IS_GCC + output.read_text(encoding="utf-8", errors="surrogateescape")
        checks = tuple(flag for flag in self.wanted.checks if flag != TRAPPING)  # gcc would call functions
        own = [flag for flag in GCC_FLAGS if not checks or flag != GCC_TRAP]  # it would make all checks trap
        return text, (*own, *_FLAGS, *checks)

    def _object(
        self, name: str, text: str, flags: Sequence[str], compiler: Compiler = Compiler.CLANG
    ) -> Symbols:
        """Compile `text` to the object file `name`, unless it exists; return its symbols."""
        before = self._objects.get(name)
        if before is not None and before[:2] == (text, tuple(flags)):
            return before[2]
        source, output = self._directory / f"{name}.c", self._directory / f"{name}.o"
        source.write_text(text, encoding="utf-8", errors="surrogateescape")
        command = (*flags, "-c", str(source), "-o", str(output))
        if compiler is Compiler.CLANG:
            self._run_clang(command)
        else:
            self._run_gcc(command)
        table = symbols(output.read_bytes())
        self._objects[name] = (text, tuple(flags), table)
        return table

    def _run_clang(self, arguments: Sequence[str]) -> None:
        self._run_compiler(self._clang.command, (self._target, *arguments))

    def _run_gcc(self, arguments: Sequence[str]) -> None:
        gcc = find_gcc()
        if gcc is None:
            raise NotBuilt("gcc is not installed")
        self._run_compiler(gcc, arguments)

    def _run_compiler(self, command: Sequence[str], arguments: Sequence[str]) -> None:
        tool, *first = command
        result = run_tool(Path(tool), (*first, *arguments), seconds=self._seconds)
        if result.code != 0:
            raise NotBuilt(f"the program could not be compiled: {_first(result)}")

    def _link(self, output: Path, parts: Sequence[str], *, library: bool) -> None:
        if not library:
            self._run_linker(output, ("-static", *parts))
            return
        compiler, linker = find_tool("gcc"), find_tool("ld")
        assert compiler is not None
        assert linker is not None
        flags = (f"-B{linker.parent}", "-no-pie", "-Wl,--wrap=main", "-o", str(output))
        _check_linked(run_tool(compiler, (*flags, *parts)))

    def _run_linker(self, output: Path, arguments: Sequence[str]) -> None:
        """Link without a C library."""
        tool, *command = self._clang.command
        if Path(tool).name.startswith("zig"):
            _check_linked(run_tool(Path(tool), ("ld.lld", "-o", str(output), *arguments)))
        else:
            flags = (self._target, "-nostdlib", "-no-pie", "-o", str(output))
            _check_linked(run_tool(Path(tool), (*command, *flags, *arguments)))


def _check_linked(result: ToolResult) -> None:
    if result.code != 0:
        raise NotBuilt(f"the program could not be linked: {_first(result)}")


def no_gcc(program: Program) -> str:
    """Return why gcc cannot compile the program; empty if nothing prevents it from trying."""
    if program.pointer_bits != 64:
        return "it compiles for LP64 only"
    return "" if find_gcc() is not None else "it is not installed"


def _program_name(compiler: Compiler) -> str:
    """Return the name of the object files of the program, by compiler."""
    return "program" if compiler is Compiler.CLANG else f"program-{compiler.value}"


def runtime_text() -> str:
    """Return start.c and runtime.c as one text, without the declarations at the start of runtime.c."""
    library = _text("runtime.c")
    return _text("start.c") + library[library.index("/* ---") :]


@cache
def _mathematical() -> frozenset[str]:
    """Return the names of the functions in math.c."""
    text = _text("math.c")
    shared = re.findall(r"WEAK [\w ]+?(\w+)##suffix", text)
    single = re.findall(r"^WEAK [\w ]+?(\w+)\(", text, re.MULTILINE)
    return frozenset((*(f"{name}{suffix}" for name in shared for suffix in ("", "f", "l")), *single))


def _text(name: str) -> str:
    return files("certus.check.replay").joinpath(name).read_text(encoding="utf-8")


def _quoted(file: str) -> str:
    """Return the absolute path of the file, escaped for a line marker."""
    return str(Path(file).absolute()).replace("\\", "\\\\").replace('"', '\\"')


def _has_linker() -> bool:
    return find_tool("gcc") is not None and find_tool("ld") is not None


def _first(result: ToolResult) -> str:
    """Return the first line with an error in the output of a tool."""
    lines = [line.strip() for line in result.errors.decode(errors="replace").splitlines() if line.strip()]
    return next(
        (line for line in lines if "error" in line), lines[0] if lines else f"exit code {result.code}"
    )


_MAGIC: Final = b"\x7fELF"
_SYMBOL_TABLE: Final = 2  # a section's type
_FUNCTION: Final = 2  # a symbol's type
_WEAK: Final = 2  # its binding
# By class: the position of the section table in the header, the layouts of a section header and of a symbol.
_SECTIONS: Final = {1: (0x20, "<I", 0x2E), 2: (0x28, "<Q", 0x3A)}
_SECTION: Final = {1: struct.Struct("<IIIIIIIIII"), 2: struct.Struct("<IIQQQQIIQQ")}
_SYMBOL: Final = {1: struct.Struct("<IIIBBH"), 2: struct.Struct("<IBBHQQ")}


class NotAnObject(CertusError):
    """The bytes are not a relocatable ELF file."""


@dataclass(frozen=True, slots=True)
class Symbols:
    """Names in the order of the table: defined `functions`, including static ones, and `undefined` names. Of
    these, `weak` ones have the address 0 unless another file defines them."""

    functions: tuple[str, ...]
    undefined: tuple[str, ...]
    weak: tuple[str, ...] = ()


def symbols(data: bytes) -> Symbols:
    """Return the symbols of an object file; raises `NotAnObject`."""
    try:
        return _symbols(data)
    except (struct.error, IndexError, KeyError, ValueError) as error:
        raise NotAnObject(f"not a usable object file: {error}") from error


def _symbols(data: bytes) -> Symbols:
    if data[:4] != _MAGIC:
        raise NotAnObject("not an object file")
    size = data[4]
    offset_at, offset_form, count_at = _SECTIONS[size]
    (offset,) = struct.unpack_from(offset_form, data, offset_at)
    length, count = struct.unpack_from("<HH", data, count_at)
    sections = [_SECTION[size].unpack_from(data, offset + i * length) for i in range(count)]
    functions: dict[str, None] = {}
    undefined: dict[str, bool] = {}  # whether each is weak
    for section in sections:
        if section[1] != _SYMBOL_TABLE:
            continue
        start, extent, link, entry = section[4], section[5], section[6], section[9]
        names = data[sections[link][4] :][: sections[link][5]]
        for at in range(start + entry, start + extent, entry):  # the first symbol is empty
            symbol = _SYMBOL[size].unpack_from(data, at)
            kind, where = (symbol[3], symbol[5]) if size == 1 else (symbol[1], symbol[3])
            name = names[symbol[0] : names.index(b"\0", symbol[0])].decode("utf-8", "replace")
            if name and where == 0:
                undefined[name] = kind >> 4 == _WEAK
            elif name and kind & 15 == _FUNCTION:
                functions[name] = None
    weak = tuple(name for name, is_weak in undefined.items() if is_weak)
    return Symbols(tuple(functions), tuple(undefined), weak)

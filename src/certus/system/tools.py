"""Find external tools, compile C files with Clang or gcc, and run untrusted programs, all under limits.

A tool gets no environment, no shell, an empty directory of its own, and limits. It is started by `vfork`,
because a fork of this process (`system.child`) takes some 4 ms of CPU time, a third of what Clang takes for a
small file. With `vfork` no Python code runs in the child before the tool starts, so this process sets the
limits of the child from outside.

An untrusted program (`run_confined`) also has limits on files and processes, and no input. The harness in the
program gives up system calls when it starts (start.c of `check`). Its output is discarded; the result is its
exit code or the signal that ended it.

The `ziglang` wheel has a Clang and the headers of a C library, for both data models; `CERTUS_CLANG` names
another one. gcc is a second compiler for C programs, which is never required. It compiles the text that Clang
has preprocessed, so that both compile the same program: macros such as `__clang__` and the headers of the C
library have the same meaning.
"""

from __future__ import annotations

import fcntl
import importlib.util
import math
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final

from certus.core.errors import CertusError
from certus.system.child import Kind, Reporter, recorded_signals, run_limited
from certus.system.child_main import CPU_SLACK, at_most

MESSAGES: Final = 1 << 20  # bytes kept of the messages of a tool


_TICK: Final = 0.1  # seconds between checks for signals


class ToolFailed(CertusError):
    """An external tool reached a limit or could not be run."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The exit code and the output of a tool."""

    code: int
    output: bytes
    errors: bytes


def find_tool(name: str) -> Path | None:
    """Return the path of a tool; None if it is not installed."""
    path = shutil.which(name)
    return None if path is None else Path(path).resolve()


def run_tool(
    tool: Path,
    arguments: Sequence[str] = (),
    *,
    standard_input: bytes = b"",
    seconds: float = 30.0,
    memory: int | None = None,
) -> ToolResult:
    """Run `tool` and return its output."""
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        command = [str(tool), *arguments]
        return _run(command, directory, Limits(seconds, memory), tool.name, standard_input)


def _run(
    command: Sequence[str], directory: str, limits: Limits, name: str, standard_input: bytes = b""
) -> ToolResult:
    """Run a command in `directory`; `name` is the name of the tool in messages."""
    with _memory_file() as given, _memory_file() as output, _memory_file() as errors:
        given.write(standard_input)
        given.seek(0)
        files = given, output, errors
        own = {"TMPDIR": directory, "HOME": directory, "SOURCE_DATE_EPOCH": "0"}  # for `__DATE__`, `__TIME__`
        code = run_program(command, files, directory=directory, environment=own, limits=limits)
        if code == "interrupted":
            raise KeyboardInterrupt
        if isinstance(code, str):
            raise ToolFailed(f"{name} did not finish ({code}): limit reached")
        output.seek(0)
        errors.seek(0)
        return ToolResult(code, output.read(), errors.read(MESSAGES))


def _memory_file() -> BinaryIO:
    """Return a new file that exists only in memory."""
    return os.fdopen(os.memfd_create("certus"), "w+b")


STACK: Final = 512 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended. `code` is the exit code, or minus the signal; None if a limit ended the program,
    and `limit` says which."""

    code: int | None
    limit: str = ""


def run_confined(
    program: Path,
    *,
    directory: Path,
    seconds: float,
    memory: int,
    table: Path | None = None,
    report: Path | None = None,
) -> Ended:
    """Run `program` in `directory` for at most `seconds`, with an address space of `memory` bytes. Its
    standard input is either a `table` of many runs, and it may start a process for each, or a `report`, a
    file that the program may map and write to, but not make longer."""
    shared = report if table is None else table

    def work(_: Reporter) -> bytes:
        with Path(os.devnull).open("rb") if shared is None else shared.open("r+b") as standard_input:
            done = subprocess.run(
                [str(program)],
                stdin=standard_input,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd=directory,
                check=False,
                preexec_fn=_confine if table is None else _confine_runs,
            )
        return str(done.returncode).encode()

    result = run_limited(work, seconds=seconds, memory=memory)
    if result.payload is None:
        limits = {"timeout": f"{seconds:g} s", "memory": f"{memory >> 20} MB"}
        return Ended(None, limits.get(result.kind, result.detail or result.kind))
    return Ended(int(result.payload))


def _confine() -> None:
    """Set limits between fork and exec: no files, no processes, a large stack."""
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    _confine_runs()


def _confine_runs() -> None:
    """Set the same limits for a program that may start processes."""
    for kind, most in ((resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, 16), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(kind, (most, most))
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))


# --------------------------------------------------------------------------------------- compilers

SECONDS: Final = 120.0
MEMORY: Final = 6 << 30
CLANG_STACK: Final = 1 << 30

TARGETS: Final = {"ILP32": "i386-linux-gnu", "LP64": "x86_64-linux-gnu"}

# Accept constructs of older C that Clang would otherwise refuse.
OLD_C: Final = (
    "-Wno-implicit-function-declaration",
    "-Wno-implicit-int",
    "-Wno-int-conversion",
    "-Wno-incompatible-pointer-types",
    "-Wno-incompatible-function-pointer-types",
    "-Wno-return-mismatch",
    "-Wno-return-type",
    "-Wno-parentheses",  # a < b < c
)

# Compile the functions of <ctype.h> as functions, not as look-ups in tables of the C library.
NO_TABLES: Final = "-D__NO_CTYPE"

# An attribute that switches checks off has no effect: nothing checks threads.
_ALL_CHECKED: Final = tuple(
    f'-D{name}(...)=no_sanitize("thread")' for name in ("no_sanitize", "__no_sanitize__")
)
# Makes Clang check `x++` on an atomic variable, too.
TRAPPING: Final = "-ftrapv"
# Flags for every compilation of a user's program: preprocessing, the version of C, and the nesting of
# expressions.
LANGUAGE: Final = (
    *("-x", "c", "-std=gnu17", "-fno-pic", "-fno-pie", "-fbracket-depth=100000"),
    *(*OLD_C, NO_TABLES, *_ALL_CHECKED),
)
_NAME: Final = re.compile(r"(?:\\[ #\\]|\$\$|[^\s\\]|\\(?=\S))+")  # in the list of a makefile's rule
_ESCAPED: Final = re.compile(r"\\([ #])|\$(\$)")


class ClangMissing(CertusError):
    """No Clang was found."""


@dataclass(frozen=True, slots=True)
class Clang:
    """A Clang: its command, and the flags for its headers (none if it finds them by itself)."""

    command: tuple[str, ...]
    include_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClangResult:
    """What Clang printed for a file, nothing if it refused it; its messages, and the path of the file that it
    read."""

    text: str
    messages: str
    ok: bool
    file: str


def find_clang() -> Clang:
    """Return the Clang that `CERTUS_CLANG` names (a clang or a zig), else the one of the `ziglang` wheel,
    else `clang` on PATH."""
    named = os.environ.get("CERTUS_CLANG")
    if named:
        tool = find_tool(named)
        if tool is None:
            raise ClangMissing(f"CERTUS_CLANG names {named}, which is not a program.")
        return _zig(tool) if tool.name.startswith("zig") else Clang((str(tool),))
    tool = _packaged_zig()
    if tool is not None:
        return _zig(tool)
    tool = find_tool("clang")
    if tool is None:
        raise ClangMissing("There is no Clang: install the package ziglang, or name a Clang in CERTUS_CLANG.")
    return Clang((str(tool),))


_GLIBC_MINOR: Final = 36  # of the glibc that the headers declare: they do not say it themselves


@cache
def _packaged_zig() -> Path | None:
    """Return the compiler in the `ziglang` wheel."""
    spec = importlib.util.find_spec("ziglang")
    directories = (spec.submodule_search_locations or ()) if spec else ()
    return next((zig for each in directories if (zig := Path(each) / "zig").is_file()), None)


def _zig(binary: Path) -> Clang:
    library = binary.parent / "lib"
    headers = (
        library / "include",
        *(
            library / "libc" / "include" / part
            for part in ("x86-linux-gnu", "generic-glibc", "x86-linux-any", "any-linux-any")
        ),
    )
    flags = ["-nostdinc", "-nostdlibinc", f"-D__GLIBC_MINOR__={_GLIBC_MINOR}"]
    for directory in headers:
        flags += ["-isystem", str(directory)]
    return Clang((str(binary), "clang"), tuple(flags))


def run_clang(
    path: Path,
    *,
    model: str,
    flags: Sequence[str],
    arguments: Sequence[str] = (),
    seconds: float | None = None,
    data: bytes | None = None,
) -> ClangResult:
    """Run Clang on `path` for a data model. `flags` are those of Certus, with the kind of output; `arguments`
    are the user's. If there is `data`, read it as if the file contained it.

    Raises `ToolFailed` if Clang reaches a limit and `ClangMissing` if there is none."""
    clang = find_clang()
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        file, quoted = os.path.abspath(path), tuple[str, ...]()
        if data is not None:
            quoted = ("-iquote", os.path.dirname(file))
            file = f"{directory}/{path.name}"
            Path(file).write_bytes(data)
        command = [
            *clang.command,
            f"--target={TARGETS[model]}",
            *(*LANGUAGE, "-ferror-limit=20", "-fno-color-diagnostics", *flags, *quoted),
            *(*absolute_paths(arguments), "-Wno-error"),
            *clang.include_flags,
            *(file, "-o", "-"),
        ]
        limits = Limits(SECONDS if seconds is None else min(seconds, SECONDS), MEMORY, CLANG_STACK)
        result = _run(command, directory, limits, "Clang")
    messages = result.errors.decode(errors="replace")
    if result.code < 0:
        name = signal.Signals(-result.code).name
        raise ToolFailed(f"Clang was ended by {name}: {messages[-400:].strip()}")
    text = result.output.decode("utf-8", "surrogateescape")
    return ClangResult(text if result.code == 0 else "", messages, result.code == 0, file)


def absolute_paths(arguments: Sequence[str]) -> list[str]:
    """Return the flags with absolute paths, since Clang runs in a directory of its own."""
    result: list[str] = []
    expected = False
    for argument in arguments:
        if expected:
            result.append(os.path.abspath(argument))
            expected = False
        elif argument in ("-I", "-isystem", "-iquote", "-include"):
            result.append(argument)
            expected = True
        elif argument.startswith("-I"):
            result.append("-I" + os.path.abspath(argument[2:]))
        else:
            result.append(argument)
    return result


def own_headers(path: Path, *, model: str, arguments: Sequence[str] = ()) -> list[Path]:
    """Return the files that `path` includes, directly or not, except system headers. `arguments` are the
    user's flags. Raises `ToolFailed`, and `ClangMissing` if there is no Clang."""
    clang = find_clang()
    file = os.path.abspath(path)
    tool, *command = clang.command
    target = f"--target={TARGETS[model]}"
    flags = (target, "-x", "c", "-std=gnu17", "-w", *absolute_paths(arguments), *clang.include_flags)
    result = run_tool(Path(tool), (*command, *flags, "-MM", "-MT", "file", file))
    if result.code != 0:
        raise ToolFailed(f"Clang cannot list the headers of {path}")
    rule = result.output.decode(errors="surrogateescape").replace("\\\n", " ")
    names = (_ESCAPED.sub(r"\1\2", name) for name in _NAME.findall(rule.removeprefix("file:")))
    return [Path(name) for name in dict.fromkeys(map(os.path.abspath, names)) if name != file]


# Types that headers define for Clang, and that gcc has as keywords.
_RENAMED: Final = ("_Float32", "_Float64", "_Float128", "_Float32x", "_Float64x")
_PRINTING: Final = ("printf", "fprintf", "vprintf", "vfprintf", "fputs")  # must stay calls of these
GCC_TRAP: Final = "-fsanitize-undefined-trap-on-error"  # checks end the program, in all versions of gcc
GCC_FLAGS: Final = (
    *("-x", "c", "-std=gnu17", "-O0", "-m64", "-pipe", "-fno-pic", "-fno-pie", "-fno-stack-protector"),
    *OLD_C,
    "-Werror=attributes",  # the effect of an unknown attribute is unknown
    *("-fsanitize=unreachable", GCC_TRAP),  # unreachable code ends an execution, as with Clang
    *(f"-D{name}=certus{name}" for name in _RENAMED),
    *(f"-fno-builtin-{name}" for name in _PRINTING),
)
# On some systems another compiler is installed under the name gcc.
IS_GCC: Final = (
    "#if !defined __GNUC__ || defined __clang__ || defined __INTEL_COMPILER\n#error not gcc\n#endif\n"
)


def find_gcc() -> tuple[str, ...] | None:
    """Return the command for the `gcc` and the assembler on PATH; None if either is missing."""
    compiler, assembler = find_tool("gcc"), find_tool("as")
    if compiler is None or assembler is None:
        return None
    return str(compiler), f"-B{assembler.parent}"


# ------------------------------------------------------------------- another program under limits


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a program: seconds of wall time, bytes of its address space, and bytes of its stack, unless
    the system allows less."""

    seconds: float
    memory: int | None = None
    stack: int | None = None


def run_program(
    command: Sequence[str],
    files: tuple[BinaryIO, BinaryIO, BinaryIO],
    *,
    directory: str,
    environment: Mapping[str, str],
    limits: Limits,
) -> int | Kind:
    """Run a program with `files` as standard input, output and errors. Return its exit code, or minus the
    signal that ended it. If a limit or a signal to this process ended it, return which one.

    The program leads a session, which ends when the program does. If this process is killed, the kernel ends
    the program, which has the reading end of a pipe and gets a signal when the only writing end closes. This
    protection and all limits but that of the stack take effect an instant after the program starts."""
    standard_input, output, errors = files
    reading, writing = os.pipe()
    with recorded_signals() as received, os.fdopen(writing, "wb"), os.fdopen(reading, "rb") as alive:
        deadline = time.monotonic() + limits.seconds
        with _stack(limits.stack):
            process = subprocess.Popen(
                command,
                stdin=standard_input,
                stdout=output,
                stderr=errors,
                cwd=directory,
                env=environment,
                pass_fds=(alive.fileno(),),
                start_new_session=True,
            )
        try:
            fcntl.fcntl(alive, fcntl.F_SETOWN, process.pid)
            fcntl.fcntl(alive, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(alive, fcntl.F_SETFL, os.O_ASYNC)
            _limit(process.pid, limits)
            stopped = _wait(process.pid, deadline, received)
        finally:
            with suppress(ProcessLookupError, PermissionError):  # its number is not used again before `wait`
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
    return code if stopped is None else stopped


def _wait(pid: int, deadline: float, received: Sequence[int]) -> Kind | None:
    """Wait until a process ends; return why it must be ended, if it must."""
    with open(os.pidfd_open(pid), "rb", buffering=0) as end:
        while not select.select([end], [], [], max(0.0, min(_TICK, deadline - time.monotonic())))[0]:
            if received:
                return "interrupted"
            if time.monotonic() >= deadline:
                return "timeout"
    return "interrupted" if received else None


@contextmanager
def _stack(size: int | None) -> Iterator[None]:
    """Let programs that start now have a stack of `size` bytes. The layout of their memory depends on this
    limit, so that it must be set before they start."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (soft if size is None else at_most(size, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))


def _limit(pid: int, limits: Limits) -> None:
    """Limit a process that runs already."""
    wanted = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, math.ceil(limits.seconds) + CPU_SLACK)]
    if limits.memory is not None:
        wanted.append((resource.RLIMIT_AS, limits.memory))
    with suppress(ProcessLookupError):  # it has ended
        for kind, most in wanted:
            hard = resource.prlimit(pid, kind)[1]
            resource.prlimit(pid, kind, (at_most(most, hard), hard))

"""Find a Clang, compile a C file to LLVM IR with it, and list the headers that a C file includes; find gcc.

The `ziglang` wheel has a Clang and the headers of a C library, for both data models; `CERTUS_CLANG` names
another one.

gcc is a second compiler for C programs, which is never required. It compiles the text that Clang has
preprocessed, so that both compile the same program: macros such as `__clang__` and the headers of the C
library have the same meaning.
"""

from __future__ import annotations

import importlib.util
import os
import re
import resource
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NoReturn

from certus.core.errors import CertusError
from certus.system.child import Reporter, run_limited
from certus.system.tools import ToolFailed, find_tool, run_tool

SECONDS: Final = 120.0
MEMORY: Final = 6 << 30
MESSAGES: Final = 1 << 20  # bytes kept of the messages of Clang

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

# Flags for every compilation of a user's program: preprocessing, the version of C, and the nesting of
# expressions.
LANGUAGE: Final = (
    *("-x", "c", "-std=gnu17", "-fno-pic", "-fno-pie", "-fbracket-depth=100000"),
    *(*OLD_C, NO_TABLES),
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
    """The LLVM IR of a file, empty if Clang refused it, the messages of Clang, and the path of the file that
    it read."""

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
    flags = ["-nostdinc", "-nostdlibinc"]
    for directory in headers:
        flags += ["-isystem", str(directory)]
    return Clang((str(binary), "clang"), tuple(flags))


def emit_ir(
    path: Path,
    *,
    model: str,
    flags: Sequence[str],
    arguments: Sequence[str] = (),
    seconds: float | None = None,
    data: bytes | None = None,
) -> ClangResult:
    """Compile `path` to textual IR for a data model. `flags` are those of Certus, `arguments` the user's. If
    there is `data`, compile it as if the file contained it.

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
            *(*LANGUAGE, "-S", "-emit-llvm", "-ferror-limit=20", "-fno-color-diagnostics", *flags, *quoted),
            *(*absolute_paths(arguments), "-Wno-error"),
            *clang.include_flags,
            *(file, "-o", "-"),
        ]
        limit = SECONDS if seconds is None else min(seconds, SECONDS)
        code, messages = _run(command, Path(directory), limit)
        output = b"" if code != 0 else (Path(directory) / "output").read_bytes()
    return ClangResult(output.decode("utf-8", "surrogateescape"), messages, code == 0, file)


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


def _run(command: list[str], directory: Path, seconds: float) -> tuple[int, str]:
    """Run Clang in `directory`, with its output in the file `output` there. Return the exit code and the
    messages."""

    def work(_: Reporter) -> NoReturn:
        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        wanted = 1 << 30
        if soft != resource.RLIM_INFINITY and (hard == resource.RLIM_INFINITY or hard > wanted):
            resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))
        for descriptor, name in ((1, "output"), (2, "messages")):
            os.dup2(os.open(directory / name, os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
        os.chdir(directory)
        os.execve(command[0], command, {"TMPDIR": str(directory), "HOME": str(directory)})

    result = run_limited(work, seconds=seconds, memory=MEMORY)
    if result.code is None:
        detail = result.detail or "limit reached"
        raise ToolFailed(f"Clang did not finish ({result.kind}): {detail}")
    messages = (directory / "messages").read_bytes()[:MESSAGES].decode(errors="replace")
    if result.code < 0:
        raise ToolFailed(f"Clang was ended by {signal.Signals(-result.code).name}: {messages[-400:].strip()}")
    return result.code, messages


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

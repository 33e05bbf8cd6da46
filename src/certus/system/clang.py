"""Find a Clang and let it describe a C file, as a tree or as LLVM IR.

The `ziglang` wheel carries a Clang and the headers of a C library, for both data models; `CERTUS_CLANG`
names another one. Clang indents its JSON by nesting depth, so that the text of a deeply nested program is
quadratic in its size: the indentation is taken off while the text arrives and never stored.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from certus.core.budget import Budget
from certus.core.errors import CertusError
from certus.system.child import Reporter, run_limited
from certus.system.jsonlines import NotATree, Tree, load_lines
from certus.system.tools import ToolFailed, find_tool

SECONDS: Final = 120.0
MEMORY: Final = 6 << 30
MESSAGES: Final = 1 << 20  # bytes kept of what Clang says

TARGETS: Final = {"ILP32": "i386-linux-gnu", "LP64": "x86_64-linux-gnu"}

# What older C allows and Clang would otherwise refuse.
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

# The value of `offsetof` is not in Clang's tree; an address expression is.
OFFSETOF: Final = "-D__builtin_offsetof(T,m)=((__SIZE_TYPE__)&((T*)0)->m)"

# The functions of <ctype.h> as functions, not as look-ups in tables of the C library.
NO_TABLES: Final = "-D__NO_CTYPE"

# What decides how a file is preprocessed and which functions are built in: the same whether Clang describes a
# program or compiles it.
COMMON: Final = (
    *("-x", "c", "-std=gnu17", "-O0", "-fno-pic", "-fno-pie", "-fno-stack-protector"),
    *("-fbracket-depth=100000", *OLD_C, OFFSETOF, NO_TABLES),
    *("-fsanitize=unreachable", "-fsanitize-trap=unreachable"),  # what cannot be reached ends an execution
)

_CHUNK: Final = 1 << 20
_INDENTATION: Final = re.compile(rb"\n +")
_FILE: Final = re.compile(rb'"file": ("(?:[^"\\]|\\.)*")')  # quotes inside strings are escaped


class ClangMissing(CertusError):
    """No Clang was found."""


@dataclass(frozen=True, slots=True)
class Clang:
    """How to call Clang, and where its own headers are (none if it knows them by itself)."""

    command: tuple[str, ...]
    include_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClangResult:
    """`tree` is there if Clang accepted the file; `messages` is what it said.

    `files` are the files that positions in the tree are in."""

    tree: Tree | None
    messages: str
    ok: bool
    files: tuple[str, ...] = ()


def find_clang() -> Clang:
    """`CERTUS_CLANG` (a clang or a zig), else the one of the `ziglang` wheel, else `clang` on PATH."""
    named = os.environ.get("CERTUS_CLANG")
    if named:
        tool = find_tool(named)
        if tool is None:
            raise ClangMissing(f"CERTUS_CLANG names {named}, which is not a program.")
        return _zig(tool) if tool.name.startswith("zig") else Clang((str(tool),))
    spec = importlib.util.find_spec("ziglang")
    for directory in (spec.submodule_search_locations or ()) if spec else ():
        binary = Path(directory) / "zig"
        if binary.is_file():
            return _zig(binary)
    tool = find_tool("clang")
    if tool is None:
        raise ClangMissing("There is no Clang: install the package ziglang, or name one in CERTUS_CLANG.")
    return Clang((str(tool),))


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


def run_clang(
    path: Path, *, model: str, arguments: Sequence[str] = (), budget: Budget | None = None
) -> ClangResult:
    """Let Clang read `path` for the data model of that name. `arguments` are the user's flags.

    Raises `ToolFailed` if Clang reaches a limit, `ClangMissing` if there is none, and `BudgetExceeded` if
    there is no time left to read what Clang wrote."""
    budget = budget or Budget()
    file = Path(os.path.abspath(path))
    command = _command(file, model, arguments, ("-fsyntax-only", "-Xclang", "-ast-dump=json"))
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        left = budget.remaining()
        limit = SECONDS if left is None else min(left, SECONDS)
        code, messages = _run(command, Path(directory), limit)
        said = messages.replace(str(file), str(path))
        if code != 0:
            return ClangResult(None, said, ok=False)
        text = (Path(directory) / "tree").read_bytes()
    try:
        tree = load_lines(text, budget)
    except NotATree as error:
        raise ToolFailed(f"Clang wrote a tree that cannot be read: {error}") from error
    budget.check()
    files = dict.fromkeys(json.loads(name) for name in dict.fromkeys(_FILE.findall(text)))
    return ClangResult(tree, said, ok=True, files=tuple(files))


@dataclass(frozen=True, slots=True)
class ClangText:
    """`text` is the LLVM IR of a file, empty if Clang refused it; `messages` is what it said."""

    text: str
    messages: str
    ok: bool


def emit_ir(
    path: Path,
    *,
    model: str,
    flags: Sequence[str],
    arguments: Sequence[str] = (),
    seconds: float | None = None,
) -> ClangText:
    """Let Clang compile `path` to textual IR for the data model of that name. `flags` are ours, `arguments`
    the user's.

    Raises `ToolFailed` if Clang reaches a limit and `ClangMissing` if there is none."""
    clang = find_clang()
    file = Path(os.path.abspath(path))
    command = [
        *clang.command,
        f"--target={TARGETS[model]}",
        *("-x", "c", "-std=gnu17", "-S", "-emit-llvm", "-fbracket-depth=100000", "-ferror-limit=20"),
        *("-fno-color-diagnostics", *OLD_C, NO_TABLES, *flags),
        *(*absolute_paths(arguments), "-Wno-error"),
        *clang.include_flags,
        *(str(file), "-o", "-"),
    ]
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        limit = SECONDS if seconds is None else min(seconds, SECONDS)
        code, messages = _run(command, Path(directory), limit, indented=True)
        if code != 0:
            return ClangText("", messages, ok=False)
        text = (Path(directory) / "tree").read_bytes().decode("utf-8", "surrogateescape")
    return ClangText(text, messages, ok=True)


def layout_text(
    path: Path, *, model: str, arguments: Sequence[str] = (), seconds: float | None = None
) -> str:
    """Return what Clang says of the layouts of the records that the code of `path` uses; empty if it says
    nothing. Raises as `run_clang` does."""
    wanted = ("-fdump-record-layouts", "-fdump-record-layouts-simple")
    flags = ("-S", "-emit-llvm", "-o", os.devnull, *(part for flag in wanted for part in ("-Xclang", flag)))
    command = _command(Path(os.path.abspath(path)), model, arguments, flags)
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        limit = SECONDS if seconds is None else min(seconds, SECONDS)
        code, _ = _run(command, Path(directory), limit)
        text = (Path(directory) / "tree").read_bytes()
    return text.decode(errors="replace") if code == 0 else ""


def _command(file: Path, model: str, arguments: Sequence[str], flags: Sequence[str]) -> list[str]:
    clang = find_clang()
    return [
        *clang.command,
        f"--target={TARGETS[model]}",
        *COMMON,
        *("-ferror-limit=20", "-w", "-fno-color-diagnostics"),
        *flags,
        *absolute_paths(arguments),
        *clang.include_flags,
        str(file),
    ]


def absolute_paths(arguments: Sequence[str]) -> list[str]:
    """The flags with their directories made absolute, since Clang runs in a directory of its own."""
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


def _without_indentation(text: IO[bytes]) -> Iterator[bytes]:
    """The text without the spaces at the start of lines (some may stay where a piece ends in them)."""
    room = memoryview(bytearray(_CHUNK))
    while size := os.readv(text.fileno(), [room]):
        yield _INDENTATION.sub(b"\n", room[:size])


def _run(command: list[str], directory: Path, seconds: float, *, indented: bool = False) -> tuple[int, str]:
    """Run Clang there; what it prints goes to the file `tree`, with its indentation if `indented`. The exit
    code and the messages."""

    def work(_: Reporter) -> bytes:
        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        wanted = 1 << 30
        if soft != resource.RLIM_INFINITY and (hard == resource.RLIM_INFINITY or hard > wanted):
            resource.setrlimit(resource.RLIMIT_STACK, (wanted, hard))
        with (
            (directory / "messages").open("wb") as messages,
            (directory / "tree").open("wb") as tree,
            subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=tree if indented else subprocess.PIPE,
                stderr=messages,
                env={"TMPDIR": str(directory), "HOME": str(directory)},
                cwd=directory,
            ) as process,
        ):
            if process.stdout is not None:
                for part in _without_indentation(process.stdout):
                    tree.write(part)
            code = process.wait()
        return str(code).encode()

    result = run_limited(work, seconds=seconds, memory=MEMORY)
    if result.payload is None:
        detail = result.detail or "limit reached"
        raise ToolFailed(f"Clang did not finish ({result.kind}): {detail}")
    code = int(result.payload)
    messages = (directory / "messages").read_bytes()[:MESSAGES].decode(errors="replace")
    if code < 0:
        raise ToolFailed(f"Clang was ended by {signal.Signals(-code).name}: {messages[-400:].strip()}")
    return code, messages

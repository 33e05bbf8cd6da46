"""Find external tools, such as compilers, on PATH and run them under limits; run untrusted programs.

A tool gets no environment, no shell, an empty directory of its own, and the limits of
`certus.system.child`.

An untrusted program (`run_confined`) also has limits on files and processes, and no input. The harness in the
program gives up system calls when it starts (start.c of `check`). Its output is discarded; the result is its
exit code or the signal that ended it.
"""

from __future__ import annotations

import os
import resource
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certus.core.errors import CertusError
from certus.system.child import Reporter, run_limited

_SIZES: Final = struct.Struct("<iQ")  # exit code, length of the standard output


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

        def work(_: Reporter) -> bytes:
            done = subprocess.run(
                [str(tool), *arguments],
                input=standard_input,
                capture_output=True,
                env={},
                cwd=directory,
                check=False,
            )
            return _SIZES.pack(done.returncode, len(done.stdout)) + done.stdout + done.stderr

        result = run_limited(work, seconds=seconds, memory=memory)
    if result.payload is None:
        raise ToolFailed(f"{tool.name} did not finish ({result.kind}): {result.detail or 'limit reached'}")
    code, length = _SIZES.unpack_from(result.payload)
    output = result.payload[_SIZES.size :]
    return ToolResult(code, output[:length], output[length:])


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
    """Run `program` in `directory` for at most `seconds`, with an address space of `memory` bytes. A `table`
    of many runs is its standard input, and it may start a process for each. A `report` is its standard input
    as well; the program may map the file and write to it, but not make it longer."""
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

"""Find external tools, such as compilers, on PATH and run them under limits.

A tool gets no environment, no shell, an empty directory of its own, and the limits of
`certus.system.child`.
"""

from __future__ import annotations

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

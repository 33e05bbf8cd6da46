"""Compile generated programs with the Clang that Certus uses, and run them.

A program is linked with a small runtime (runtime.c) that reports observations. Clang's sanitizers are
enabled, so that a program with undefined behaviour ends by a signal and is discarded.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files
from pathlib import Path
from typing import Final

from certus.fuzz.corners.program_tree import Rendering, Values
from certus.system.child import Reporter, run_limited
from certus.system.tools import TARGETS, ToolFailed, find_clang

_FLAGS: Final = (
    *("-x", "c", "-std=gnu17", "-O0", "-fwrapv", "-fno-strict-aliasing", "-fno-stack-protector"),
    *("-fno-delete-null-pointer-checks", "-fno-pic", "-fno-pie", "-ftrivial-auto-var-init=pattern"),
)
# Without these, reduction would end at programs that have undefined behaviour or depend on addresses.
_WARNINGS: Final = (
    "-Wno-everything",
    *(f"-Werror={name}" for name in ("return-type", "uninitialized", "unsequenced", "pointer-to-int-cast")),
    *("-Werror=implicit-int", "-Werror=implicit-function-declaration", "-Werror=incompatible-ms-struct"),
)
_OWN_FLAGS: Final = ("-ffreestanding", "-fno-builtin")
_CHECKS: Final = (
    "-fsanitize=shift-exponent,integer-divide-by-zero,bounds,unreachable,bool,vla-bound,alignment",
    "-fsanitize-trap=all",
)
_RECORD: Final = struct.Struct("<QQ")
_ENDED: Final = struct.Struct("<?i")  # whether it was executed, and its exit code
_SECONDS: Final = 30.0


class Code(IntEnum):
    """Exit codes of runtime.c."""

    RETURNED = 10
    ERROR = 11
    ASSUMPTION = 12
    EXHAUSTED = 13


@dataclass(frozen=True, slots=True)
class NativeRun:
    """The end of a compiled program: an exit code, a negative signal number, or None if it was not run
    (`why_not`)."""

    code: int | None
    values: Values
    why_not: str = ""
    line: int | None = None  # of the main file, with the first compiler error


class Native:
    """Compiles and runs programs in one directory; each program overwrites the files of the one before."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._clang = find_clang()

    def run(self, text: Rendering, model: str, inputs: Sequence[int]) -> NativeRun:
        """Compile and run a program. Raises `KeyboardInterrupt` if the user interrupts it."""
        main = self.write(text)
        encoded = b"".join(struct.pack("<Q", value % (1 << 64)) for value in inputs)

        def work(_: Reporter) -> bytes:
            compiled, executable = self._directory / "program.o", self._directory / "program"
            flags = (*_WARNINGS, *_CHECKS, "-iquote", str(self._directory), *self._clang.include_flags)
            done = self._compile(main, compiled, model, flags)
            if done.returncode == 0:
                done = self._link(executable, model, (compiled, self._runtime(model)))
            if done.returncode != 0:
                return _ENDED.pack(False, 0) + done.stderr
            ended = subprocess.run([executable], input=encoded, stdout=subprocess.PIPE, env={}, check=False)
            return _ENDED.pack(True, ended.returncode) + ended.stdout

        result = run_limited(work, seconds=_SECONDS, memory=None)
        if result.kind == "interrupted":
            raise KeyboardInterrupt
        if result.payload is None:
            return NativeRun(None, {}, result.detail or result.kind)
        executed, code = _ENDED.unpack_from(result.payload)
        rest = result.payload[_ENDED.size :]
        return NativeRun(code, _observed(rest)) if executed else _not_compiled(main, rest)

    def write(self, text: Rendering) -> Path:
        """Write the files of a program, and return the path of the main file."""
        for name, header in text.headers.items():
            (self._directory / name).write_text(header, encoding="utf-8")
        main = self._directory / "program.c"
        main.write_text(text.main, encoding="utf-8")
        return main

    def _runtime(self, model: str) -> Path:
        """Return the compiled runtime; only the first call compiles it."""
        compiled = self._directory / f"runtime-{model}.o"
        if not compiled.exists():
            source = self._directory / "runtime.c"
            text = files("certus.fuzz.corners").joinpath("runtime.c").read_text(encoding="utf-8")
            source.write_text(text, encoding="utf-8")
            done = self._compile(source, compiled, model, _OWN_FLAGS)
            if done.returncode != 0:
                raise ToolFailed(f"the runtime could not be compiled: {_first(done.stderr)}")
        return compiled

    def _compile(self, source: Path, output: Path, model: str, flags: Sequence[str]) -> Completed:
        words = (f"--target={TARGETS[model]}", *_FLAGS, *flags, "-c", str(source), "-o", str(output))
        return self._tool(*self._clang.command, *words)

    def _link(self, output: Path, model: str, parts: Sequence[Path]) -> Completed:
        tool = self._clang.command[0]
        if Path(tool).name.startswith("zig"):
            return self._tool(tool, "ld.lld", "-static", "-o", str(output), *map(str, parts))
        flags = (f"--target={TARGETS[model]}", "-nostdlib", "-static", "-no-pie", "-o", str(output))
        return self._tool(*self._clang.command, *flags, *map(str, parts))

    def _tool(self, *words: str) -> Completed:
        home = {"TMPDIR": str(self._directory), "HOME": str(self._directory)}
        return subprocess.run(words, capture_output=True, env=home, cwd=self._directory, check=False)


Completed = subprocess.CompletedProcess[bytes]


def _observed(output: bytes) -> dict[int, tuple[int, ...]]:
    observed: dict[int, dict[int, None]] = {}
    for number, value in _RECORD.iter_unpack(output[: len(output) // _RECORD.size * _RECORD.size]):
        observed.setdefault(number, {})[value] = None
    return {number: tuple(values) for number, values in observed.items()}


def _not_compiled(main: Path, errors: bytes) -> NativeRun:
    why_not = _first(errors)
    place = re.match(re.escape(str(main)) + r":(\d+):", why_not)
    return NativeRun(None, {}, why_not, int(place[1]) if place else None)


def _first(errors: bytes) -> str:
    """Return the first line with an error, from the messages of a tool."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "no message")

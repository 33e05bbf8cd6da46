"""Generated programs compiled by the Clang that Certus carries, and run.

A program is linked with a small runtime of its own (runtime.c), which reports observations. Clang's checks are built
in, so that a program that does something undefined ends by a signal and is discarded.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files
from pathlib import Path
from typing import Final

from certus.pipeline.fuzz.corners.parts import Rendering, Values
from certus.system.clang import OLD_C, TARGETS, find_clang
from certus.system.tools import ToolFailed, ToolResult, run_tool

_FLAGS: Final = (
    *("-x", "c", "-std=gnu17", "-O0", "-w", "-fwrapv", "-fno-strict-aliasing", "-fno-stack-protector"),
    *("-fno-delete-null-pointer-checks", "-fno-pic", "-fno-pie", "-ftrivial-auto-var-init=pattern"),
)
_OWN_FLAGS: Final = ("-ffreestanding", "-fno-builtin")
_CHECKS: Final = (
    "-fsanitize=shift-exponent,integer-divide-by-zero,bounds,unreachable,bool,vla-bound,alignment",
    "-fsanitize-trap=all",
)
_RECORD: Final = struct.Struct("<QQ")
_SECONDS: Final = 5.0


class Code(IntEnum):
    """Exit codes of runtime.c."""

    RETURNED = 10
    ERROR = 11
    ASSUMPTION = 12
    EXHAUSTED = 13


@dataclass(frozen=True, slots=True)
class NativeRun:
    """How a compiled program ended: an exit code, minus a signal, or None if it was not run (`why_not`)."""

    code: int | None
    values: Values
    why_not: str = ""


class Native:
    """Compiles programs in a directory of its own; runs of the same `Native` overwrite one another's files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._clang = find_clang()
        self._runtimes: dict[str, Path] = {}

    def run(self, text: Rendering, model: str, inputs: Sequence[int]) -> NativeRun:
        main = self.write(text)
        compiled, executable = self._directory / "program.o", self._directory / "program"
        flags = (*_CHECKS, "-iquote", str(self._directory), *self._clang.include_flags)
        try:
            done = self._compile(main, compiled, model, flags)
            if done.code == 0:
                done = self._link(executable, model, (compiled, self._runtime(model)))
            if done.code != 0:
                return NativeRun(None, {}, _first(done))
            given = b"".join(struct.pack("<Q", value % (1 << 64)) for value in inputs)
            ended = run_tool(executable, given=given, seconds=_SECONDS)
        except ToolFailed as error:
            return NativeRun(None, {}, str(error))
        return NativeRun(ended.code, _observed(ended.output))

    def write(self, text: Rendering) -> Path:
        """Write the files of a program; the main file."""
        for name, header in text.headers.items():
            (self._directory / name).write_text(header, encoding="utf-8")
        main = self._directory / "program.c"
        main.write_text(text.main, encoding="utf-8")
        return main

    def _runtime(self, model: str) -> Path:
        if model not in self._runtimes:
            source, made = self._directory / "runtime.c", self._directory / f"runtime-{model}.o"
            text = files("certus.pipeline.fuzz.corners").joinpath("runtime.c").read_text(encoding="utf-8")
            source.write_text(text, encoding="utf-8")
            done = self._compile(source, made, model, _OWN_FLAGS)
            if done.code != 0:
                raise ToolFailed(f"the runtime could not be compiled: {_first(done)}")
            self._runtimes[model] = made
        return self._runtimes[model]

    def _compile(self, source: Path, made: Path, model: str, flags: Sequence[str]) -> ToolResult:
        tool, *command = self._clang.command
        target = f"--target={TARGETS[model]}"
        arguments = (*command, target, *_FLAGS, *OLD_C, *flags, "-c", str(source), "-o", str(made))
        return run_tool(Path(tool), arguments)

    def _link(self, made: Path, model: str, parts: Sequence[Path]) -> ToolResult:
        tool, *command = self._clang.command
        if Path(tool).name.startswith("zig"):
            return run_tool(Path(tool), ("ld.lld", "-static", "-o", str(made), *map(str, parts)))
        alone = (f"--target={TARGETS[model]}", "-nostdlib", "-static", "-no-pie", "-o", str(made))
        return run_tool(Path(tool), (*command, *alone, *map(str, parts)))


def _observed(output: bytes) -> dict[int, tuple[int, ...]]:
    found: dict[int, dict[int, None]] = {}
    for number, value in _RECORD.iter_unpack(output[: len(output) // _RECORD.size * _RECORD.size]):
        found.setdefault(number, {})[value] = None
    return {number: tuple(values) for number, values in found.items()}


def _first(result: ToolResult) -> str:
    """The first line with an error, of what a tool said."""
    said = [line.strip() for line in result.errors.decode(errors="replace").splitlines() if line.strip()]
    return next((line for line in said if "error" in line), said[0] if said else f"exit code {result.code}")

"""Let Clang compile a C file to LLVM IR, in the form that the front end reads.

The flags matter more than anything else here:

- `-O1` with all passes disabled: the code is as without optimisation, but copies of records say which members
  they have (`!tbaa.struct`). `-U__OPTIMIZE__` and `-D__NO_INLINE__` keep the C library's headers as they are.
- No `-fwrapv`: then `nsw` tells which operations are signed in C. It is a hint only; everything wraps.
- `-fno-builtin`: calls of library functions stay calls, whose meaning is ours to say.
- No markers of lifetimes: they would lead `break`, `continue` and `return` through common blocks.
- The checks of a property are those of Clang's sanitizers: a call of a handler is an error.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import CertusError, InputError, Unsupported
from certus.system.clang import ClangMissing, emit_ir
from certus.system.tools import ToolFailed

_FLAGS: Final = (
    *("-O1", "-U__OPTIMIZE__", "-D__NO_INLINE__=1", "-g", "-fno-caret-diagnostics"),
    *("-Xclang", "-disable-llvm-passes", "-Xclang", "-disable-lifetime-markers"),
    *("-fno-builtin", "-fno-discard-value-names", "-ffp-contract=off"),
)
# Warnings of Clang that matter for what a program means; others are not passed on.
WARNINGS: Final = (
    *("unsequenced", "division-by-zero", "shift-count-overflow", "shift-count-negative"),
    *("integer-overflow", "array-bounds", "uninitialized", "null-dereference"),
)
_CHECKS: Final = {
    "no-overflow": ("-fsanitize=signed-integer-overflow,shift-base", "-fno-sanitize-recover=all"),
    "no-div-zero": ("-fsanitize=integer-divide-by-zero", "-fno-sanitize-recover=all"),
}
_MARKER: Final = re.compile(
    rb'^[ \t]*#[ \t]*(?:line[ \t]+)?\d+(?:[ \t]+"(?:[^"\\\n]|\\.)*"[ \t\d]*)?[ \t]*\r?$', re.MULTILINE
)
_USES_LINES: Final = re.compile(rb"\b__(?:LINE|FILE|FILE_NAME|BASE_FILE|INCLUDE_LEVEL)__\b")
_MESSAGE: Final = re.compile(
    r"^(?:(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): )?(?:fatal )?error: (?P<text>.*)$"
)
_WARNING: Final = re.compile(
    r"^(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): warning: (?P<text>.*) \[-W(?P<name>[\w-]+)\]$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ClangWarning:
    """A warning of Clang at a place of the file that it read; columns are in bytes."""

    name: str
    text: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Compiled:
    """The IR of a file, and the path under which Clang knew it. `blanked` tells that line markers were taken
    out, so that lines are those of the file itself."""

    text: str
    main: str
    blanked: bool
    warnings: tuple[ClangWarning, ...] = ()


def compile_file(
    path: Path, *, property: str, model: str, arguments: Sequence[str] = (), budget: Budget | None = None
) -> Compiled:
    """Compile a file with the checks of a property, for a data model. Raises `InputError` with Clang's own
    messages, and `BudgetExceeded`."""
    return compile_text(
        path, path.read_bytes(), property=property, model=model, arguments=arguments, budget=budget
    )


def compile_text(
    path: Path,
    data: bytes,
    *,
    property: str,
    model: str,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
) -> Compiled:
    """Compile `data` as if it were the file at `path`."""
    blanked = without_markers(data)
    if blanked is data and path.read_bytes() == data:
        text, warnings = _compile(path, str(path), property, model, arguments, budget or Budget())
        return Compiled(text, os.path.abspath(path), blanked=False, warnings=warnings)
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        file = Path(directory) / path.name
        file.write_bytes(blanked)
        beside = ("-iquote", os.path.abspath(path.parent))
        given = (*beside, *arguments)
        text, warnings = _compile(file, str(path), property, model, given, budget or Budget())
        return Compiled(text, str(file), blanked=blanked is not data, warnings=warnings)


def without_markers(data: bytes) -> bytes:
    """Return the text with blank lines for line markers (`# 12 "f.c"`), so that debug information has the
    lines of the file. They stay where the program can see lines (`__LINE__`); the same object is returned if
    there are none."""
    if b"#" not in data or _USES_LINES.search(data) or not _MARKER.search(data):
        return data
    return _MARKER.sub(_blank, data)


def _blank(marker: re.Match[bytes]) -> bytes:
    """A line that continues another one is no marker."""
    start = marker.start()
    before = marker.string[max(start - 3, 0) : start].rstrip(b"\r\n")
    return marker[0] if before.endswith(b"\\") else b""


def _compile(
    file: Path, shown: str, property: str, model: str, arguments: Sequence[str], budget: Budget
) -> tuple[str, tuple[ClangWarning, ...]]:
    flags = (*_FLAGS, *(f"-W{name}" for name in WARNINGS), *_CHECKS.get(property, ()))
    try:
        result = emit_ir(file, model=model, flags=flags, arguments=arguments, seconds=budget.remaining())
    except ClangMissing as error:
        hint = "Install the package `ziglang`."
        raise InputError([Diagnostic("no-clang", str(error), hint=hint)]) from error
    except ToolFailed as error:
        budget.check()
        raise InputError([Diagnostic("clang-failed", str(error))]) from error
    if not result.ok:
        raise _refused(clang_diagnostics(result.messages.replace(os.path.abspath(file), shown), shown))
    budget.check()
    return result.text, tuple(_warnings(result.messages))


def _warnings(messages: str) -> Iterator[ClangWarning]:
    for match in _WARNING.finditer(messages):
        if match["name"] in WARNINGS:
            yield ClangWarning(
                match["name"], match["text"], match["file"], int(match["line"]), int(match["column"])
            )


def _refused(errors: list[Diagnostic]) -> CertusError:
    """What GNU C allows and Clang does not is a lack of ours, not a mistake of the user's."""
    for error in errors:
        if "variable length array in structure" in error.message:
            message = "A variable-length array in a structure is not modelled."
            return Unsupported(Diagnostic("unsupported-vla-in-struct", message, span=error.span))
    return InputError(errors)


def clang_diagnostics(messages: str, file: str) -> list[Diagnostic]:
    """Return one diagnostic for each error that Clang reports, in its own words."""
    found: list[Diagnostic] = []
    for line in messages.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            continue
        span = None
        if match.group("file") is not None:
            at_line, column = int(match.group("line")), int(match.group("column"))
            name = match.group("file")
            span = Span(name, at_line, column, at_line, column + 1, name, at_line)
        found.append(Diagnostic("clang-error", match.group("text"), span=span))
    if not found:
        text = messages.strip() or f"Clang refused {file} without saying why."
        found.append(Diagnostic("clang-error", text))
    return found

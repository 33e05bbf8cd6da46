"""Run a compiled program with checks of every access to memory, and say which memory error it makes first.

Clang instruments the program for AddressSanitizer; the runtime is our own (sanitizer.c), so nothing has to be
installed and both data models work. The program writes what it found to a report, a small file that it maps
before it gives up its system calls.

Only bytes count: an access beyond the end of one object that lands inside another is seen if the access names the
first object, or if both are on the heap and not too far apart, and not otherwise.
"""

from __future__ import annotations

import signal
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from certus.check.replay.build import UNCONFINED, Builds, Built, Wanted
from certus.check.replay.harness import ENDINGS, NOTED, ExitCode, Supply, error_codes, harness
from certus.check.replay.line_table import Line, LineTable
from certus.core.program import Program
from certus.system.confined import Ended, run_confined

INVALID_READ: Final = "invalid-read"
INVALID_WRITE: Final = "invalid-write"
INVALID_FREE: Final = "invalid-free"
MEMORY_LEAK: Final = "memory-leak"
NOT_FREED: Final = "not-freed"
MEMORY_KINDS: Final = (INVALID_READ, INVALID_WRITE, INVALID_FREE, MEMORY_LEAK, NOT_FREED)

_ACCESSES: Final = (INVALID_READ, INVALID_WRITE)
_ERRORS: Final = (None, INVALID_READ, INVALID_WRITE, INVALID_FREE)  # as numbered in sanitizer.c
_STORAGE: Final = (None, "heap", "local", "static")
_PLAIN, _WRAPPED, _OUTSIDE, _NO_CODE, _READ_ONLY = range(5)
_CIRCUMSTANCES: Final[Mapping[int, str]] = {
    _WRAPPED: "the address overflowed",
    _NO_CODE: "a call of an address that is not a function",
    _READ_ONLY: "the memory is read-only",
}
_BLIND: Final[Mapping[int, str]] = {
    1: "so many functions returned that their memory was used again",
    2: "a function had no memory of its own for its local objects",
    4: "memory of `alloca` or of an array of variable length was used again",
    8: "the address of an access overflowed to a place before the object",
}
_PLACES: Final = 8
_ORIGINS: Final = 4
_NAME: Final = 256
_REPORT: Final = struct.Struct(f"<6Qq5Q{_PLACES}Q{_ORIGINS}Q{_ORIGINS}Q{_NAME}s")
_READY: Final = 0x5A17
_REPORT_SIZE: Final = 4096
_MEMORY: Final = 4 << 30  # bytes of address space; sanitizer.c reserves 1.7 GB
_RETURNS: Final = (ExitCode.RETURNED, ExitCode.EXITED)  # lost objects are leaks
_ENDS: Final = (*_RETURNS, ExitCode.ABORTED, ExitCode.ASSERTION, ExitCode.ERROR)  # objects must have been freed


@dataclass(frozen=True, slots=True)
class MemoryObject:
    """The object that an error is about. `storage` is `heap`, `local` or `static`; `offset` is that of the access
    or the free. It has `ended` if it was freed, or its scope or function was left. `name` is empty for heap
    objects; only they have the lines where they were `allocated` and `freed`."""

    storage: str
    size: int
    offset: int
    ended: bool
    name: str = ""
    allocated: Line | None = None
    freed: Line | None = None

    def __str__(self) -> str:
        name = f"`{self.name}`" if self.name else f"a {self.storage} object"
        allocated = f", allocated at line {self.allocated.line}" if self.allocated else ""
        freed = f", freed at line {self.freed.line}" if self.freed else ", which has ended" if self.ended else ""
        return f"{name} of {self.size} byte{'' if self.size == 1 else 's'}{allocated}{freed}"


@dataclass(frozen=True, slots=True)
class MemoryFault:
    """A memory error: one of `MEMORY_KINDS`, the number of bytes accessed (0 if it is no access), the line of the
    access or free, the object, and what else is known about it."""

    kind: str
    size: int = 0
    line: Line | None = None
    object: MemoryObject | None = None
    circumstance: str = ""

    def __str__(self) -> str:
        place = f" at line {self.line.line}" if self.line else ""
        about = "" if self.object is None else f" of {self.object}"
        if self.kind in _ACCESSES:
            access = f"{'read' if self.kind == INVALID_READ else 'write'} of {self.size} bytes"
            offset = "" if self.object is None else f" at offset {self.object.offset}"
            further = f" ({self.circumstance})" if self.circumstance else ""
            return f"invalid {access}{place}{offset}{about}{further}"
        if self.kind == INVALID_FREE:
            offset = f" at offset {self.object.offset}" if self.object and self.object.offset else ""
            return f"invalid free{place}{offset}{about}"
        return f"no pointer leads to {self.object}" if self.kind == MEMORY_LEAK else f"not freed: {self.object}"


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """A run of a sanitized program. `code` is the exit code, or minus the signal; None if a limit ended it.
    `access` is the invalid access or free that ended it. At the end there were `live` heap objects; nothing led
    to the `lost` ones, and only the stack to the `held` ones (if `exit` ended the program). `blind` says why an
    invalid access may not have been seen; `missing` are the functions that have only a stub, and `noted` whether
    one was called."""

    code: int | None
    ending: str
    access: MemoryFault | None = None
    left: MemoryObject | None = None
    live: int = 0
    lost: int = 0
    held: int = 0
    blind: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    noted: bool = False

    @property
    def fault(self) -> MemoryFault | None:
        """The error: an invalid access or free, else an object that is lost, else one that is not freed."""
        if self.access is not None:
            return self.access
        for kind in (MEMORY_LEAK, NOT_FREED):
            if self.violates(kind):
                return MemoryFault(kind, object=self.left)
        return None

    def violates(self, kind: str) -> bool:
        """Return whether the run has an error of this kind. Reads and writes are not distinguished: an invalid
        copy may be reported as either."""
        if self.access is not None:
            return self.access.kind == kind or (kind in _ACCESSES and self.access.kind in _ACCESSES)
        if kind == MEMORY_LEAK:
            return self.lost > 0 and self.code in _RETURNS
        return kind == NOT_FREED and self.live > 0 and self.code in _ENDS

    def why_not(self, kind: str) -> str | None:
        """Return why a run without an error of this kind says nothing; None if it contradicts the error."""
        if self.code is None:
            return f"the compiled program did not finish: {self.ending}"
        if self.code == ExitCode.NO_MEMORY:
            return "the compiled program ran out of memory"
        if self.code == ExitCode.NO_STACK:
            return "the compiled program ran out of stack"
        if self.missing and (self.noted or self.code < 0 or self.code == ExitCode.CRASHED):
            return f"the program uses functions that are not defined: {', '.join(self.missing[:5])}"
        if self.noted:
            return "the program prints a number in a format that the compiled program does not have"
        if self.access is None and kind in _ACCESSES and self.blind:
            return f"the compiled program may miss the access: {self.blind[0]}"
        if self.access is None and kind == MEMORY_LEAK and self.held:
            return "the stack of the compiled program may contain a pointer to the object"
        return None


class SanitizedProgram:
    """A program that is built in `directory`, once for all inputs. `arguments` are the user's flags for Clang."""

    def __init__(self, program: Program, *, arguments: Sequence[str] = (), directory: Path) -> None:
        self._directory = directory
        self._defines: tuple[str, ...] = ()
        self._builds = Builds(program, self._wanted(Supply(), ""), arguments=arguments, directory=directory)
        self.harness = ""  # of the last run

    def run(self, supply: Supply, *, seconds: float, about: str = "a memory error") -> MemoryRun:
        """Run the program on the inputs; raises `NotBuilt`. `about` describes them in the text of the harness."""
        ended, built, report = self._execute(supply, seconds, about)
        if ended.code == ExitCode.UNCONFINED:
            self._defines = (UNCONFINED,)
            ended, built, report = self._execute(supply, seconds, about)
        return _memory_run(ended, built, report)

    def _execute(self, supply: Supply, seconds: float, about: str) -> tuple[Ended, Built, bytes]:
        self._builds.wanted = self._wanted(supply, about)
        built = self._builds.build()
        self.harness = built.harness
        path = self._directory / "report"
        path.write_bytes(bytes(_REPORT_SIZE))
        ended = run_confined(
            built.executable, directory=self._directory, seconds=seconds, memory=_MEMORY, report=path
        )
        return ended, built, path.read_bytes()

    def _wanted(self, supply: Supply, about: str) -> Wanted:
        return Wanted(
            error_codes(None),
            lambda undefined: harness(supply, undefined, None, about=about),
            defines=self._defines,
            sanitized=True,
        )


def _memory_run(ended: Ended, built: Built, data: bytes) -> MemoryRun:
    """Return what the exit code and the report say."""
    if ended.code is None:
        return MemoryRun(None, ended.limit, missing=built.missing)
    noted, code = ended.code >= NOTED, ended.code & ~NOTED if ended.code > 0 else ended.code
    if code < 0:
        ending = f"it was ended by {signal.Signals(-code).name}"
    else:
        ending = ENDINGS.get(code, f"it ended with exit code {code}")
    run = MemoryRun(code, ending, missing=built.missing, noted=noted)
    ready, error, size, storage, state, object_size, offset, *rest = _REPORT.unpack_from(data)
    if ready != _READY:
        return run
    circumstance, live, lost, held, blind = rest[:5]
    places, allocated, freed = rest[5:13], rest[13:17], rest[17:21]
    table = LineTable(built.executable.read_bytes()) if error or live else LineTable(b"")
    kind = _ERRORS[error]
    about = None
    if _STORAGE[storage] is not None:
        name = rest[21].split(b"\0")[0].decode("utf-8", "replace")
        about = MemoryObject(
            _STORAGE[storage], object_size, offset, state == 1, name, _line(table, allocated), _line(table, freed)
        )
    if kind is not None:
        further = _CIRCUMSTANCES.get(circumstance, "")
        fault = MemoryFault(kind, size, _line(table, places), about, further)
        run = replace(run, access=fault, ending=f"there was an {fault}")
    reasons = tuple(reason for bit, reason in _BLIND.items() if blind & bit)
    left = about if kind is None else None
    return replace(run, left=left, live=live, lost=lost, held=held, blind=reasons)


def _line(table: LineTable, addresses: Sequence[int]) -> Line | None:
    """Return the line of the innermost call that is in the program: its library has no lines."""
    return next((line for address in addresses if (line := table.line(address)) is not None), None)

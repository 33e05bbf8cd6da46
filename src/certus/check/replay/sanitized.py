"""Run a compiled program with checks of every access to memory, and say which memory error it makes first.

Clang instruments the program for AddressSanitizer; the runtime is our own (sanitizer.c), so nothing has to
be installed and both data models work. The program writes what it found to a report, a small file that it
maps before it gives up its system calls.

The checks are by address. An access beyond the end of one object that lands inside another is seen only if
the access names the first object, as `a[i]` does. At least 64 KB lie between the first 1,024 heap objects.
"""

from __future__ import annotations

import signal
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from certus.check.replay.build import UNCONFINED, Builds, Built, Wanted
from certus.check.replay.harness import ENDINGS, NOTED, ExitCode, Supply, error_codes, harness
from certus.check.replay.line_table import Line, LineTable
from certus.core.program import Program
from certus.core.vocabulary import FREE, LEAK, NOT_FREED, READ, WRITE
from certus.system.tools import Ended, run_confined

MEMORY_KINDS: Final = (READ, WRITE, FREE, LEAK, NOT_FREED)

_ACCESSES: Final = (READ, WRITE)
# The numbers of sanitizer.c.
_ERRORS: Final = ("", READ, WRITE, FREE)
_STORAGE: Final = ("", "heap", "local", "static")
_CIRCUMSTANCES: Final[Mapping[int, str]] = {
    1: "the address overflowed",
    3: "a call of an address that is not a function",
    4: "the memory is read-only",
    5: "an array of negative size, or of more than half of the address space",
}
_BLIND: Final[Mapping[int, str]] = {
    1: "the memory of a function that had returned was used again for another",
    2: "the local objects of a function were on the stack, where their end is not seen",
    4: "memory of `alloca` or of an array of variable length was used again",
    8: "the address of an access overflowed to a place before the object",
    16: "an object of a loop has the same address in each round",
    32: "memory before a static object may belong to another one",
}
_PLACES: Final = 8
_ORIGINS: Final = 4
_REPORT: Final = struct.Struct(f"<6Qq5Q{_PLACES}Q{_ORIGINS}Q{_ORIGINS}Q256s")
_READY: Final = 0x5A17
_REPORT_SIZE: Final = 4096
_MEMORY: Final = 4 << 30  # bytes of address space; sanitizer.c reserves 1.7 GB
_ENDS: Final = (  # of the program: lost objects are leaks, live ones are not freed
    *(ExitCode.RETURNED, ExitCode.EXITED, ExitCode.ABORTED, ExitCode.ASSERTION, ExitCode.ERROR),
)


@dataclass(frozen=True, slots=True)
class MemoryObject:
    """The object that an error is about. `storage` is `heap`, `local` or `static`; `offset` is that of the
    access or the free. An object has `ended` if it was freed, or if its scope or function was left. `name` is
    empty for heap objects; only they have the lines where they were `allocated` and `freed`."""

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
        ended = ", which has ended" if self.ended else ""
        freed = f", freed at line {self.freed.line}" if self.freed else ended
        return f"{name} of {self.size} byte{'' if self.size == 1 else 's'}{allocated}{freed}"


@dataclass(frozen=True, slots=True)
class MemoryFault:
    """A memory error: one of `MEMORY_KINDS`, the number of bytes accessed (0 if it is no access), the line of
    the access or free, the object, and what else is known about it."""

    kind: str
    size: int = 0
    line: Line | None = None
    object: MemoryObject | None = None
    circumstance: str = ""

    def __str__(self) -> str:
        if self.kind == LEAK:
            return f"no pointer leads to {self.object}"
        if self.kind == NOT_FREED:
            return f"not freed: {self.object}"
        place = f" at line {self.line.line}" if self.line else ""
        further = f" ({self.circumstance})" if self.circumstance else ""
        about = ""
        if self.object is not None:
            inside = self.kind == FREE and self.object.offset == 0
            about = f" of {self.object}" if inside else f" at offset {self.object.offset} of {self.object}"
        if self.kind == FREE:
            return f"invalid free{place}{about}{further}"
        what = "read" if self.kind == READ else "write"
        size = f" of {self.size} byte{'' if self.size == 1 else 's'}" if self.size else ""
        return f"invalid {what}{size}{place}{about}{further}"


@dataclass(frozen=True, slots=True)
class MemoryRun:
    """A run of a sanitized program. `code` is the exit code, or minus the signal; None if a limit ended it.
    `access` is the invalid access or free that ended it. Otherwise `live` heap objects were left at the end,
    and `left` is one of them; nothing led to the `lost` ones, and only the stack to the `held` ones (if
    `main` did not return). `blind` says why an invalid access may not have been seen. `missing` are the
    functions that have only a stub; `noted` says whether one was called."""

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
        kinds = (LEAK, NOT_FREED) if self.access is None else (self.access.kind,)
        return next((fault for kind in kinds if (fault := self.fault_of(kind)) is not None), None)

    def fault_of(self, kind: str) -> MemoryFault | None:
        """Return the error of this kind; None if the run has none."""
        if not self.violates(kind):
            return None
        return self.access if self.access is not None else MemoryFault(kind, object=self.left)

    def violates(self, kind: str) -> bool:
        """Return whether the run has an error of this kind. Reads and writes are not distinguished: an
        invalid copy may be reported as either."""
        if self.access is not None:
            return self.access.kind == kind or (kind in _ACCESSES and self.access.kind in _ACCESSES)
        if kind == LEAK:
            return self.lost > 0 and self.code in _ENDS
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
            return "the program writes text in a format that the compiled program does not have"
        if self.access is None and kind in _ACCESSES and self.blind:
            return f"the compiled program may miss the access: {self.blind[0]}"
        if kind in (LEAK, NOT_FREED) and self.code == -signal.SIGILL:
            return "the compiled program was ended by a trap, where it does not look for objects"
        if self.access is None and kind == LEAK and self.held:
            return "the stack of the compiled program may contain a pointer to the object"
        return None


class SanitizedProgram:
    """A program that is built in `directory`, once for all inputs. `arguments` are the user's flags for
    Clang."""

    def __init__(self, program: Program, *, arguments: Sequence[str] = (), directory: Path) -> None:
        self._directory = directory
        self._defines: tuple[str, ...] = ()
        self._builds = Builds(program, self._wanted(Supply(), ""), arguments=arguments, directory=directory)
        self.harness = ""  # of the last run

    def run(self, supply: Supply, *, seconds: float, about: str = "a memory error") -> MemoryRun:
        """Run the program on the inputs; raises `NotBuilt`. `about` describes the inputs in the harness."""
        run = self._execute(supply, seconds, about)
        if run.code == ExitCode.UNCONFINED:
            self._defines = (UNCONFINED,)
            run = self._execute(supply, seconds, about)
        return run

    def _execute(self, supply: Supply, seconds: float, about: str) -> MemoryRun:
        self._builds.wanted = self._wanted(supply, about)
        built = self._builds.build()
        self.harness = built.harness
        report = self._directory / "report"
        report.write_bytes(bytes(_REPORT_SIZE))
        ended = run_confined(
            built.executable, directory=self._directory, seconds=seconds, memory=_MEMORY, report=report
        )
        return _with_report(_ended(ended, built), report.read_bytes(), built)

    def _wanted(self, supply: Supply, about: str) -> Wanted:
        return Wanted(
            error_codes(None),
            lambda undefined: harness(supply, undefined, None, about=about),
            defines=self._defines,
            sanitized=True,
        )


def _ended(ended: Ended, built: Built) -> MemoryRun:
    """Return what the exit code says."""
    if ended.code is None:
        return MemoryRun(None, ended.limit, missing=built.missing)
    noted, code = ended.code >= NOTED, ended.code & ~NOTED if ended.code > 0 else ended.code
    if code < 0:
        ending = f"it was ended by {signal.Signals(-code).name}"
    else:
        ending = ENDINGS.get(code, f"it ended with exit code {code}")
    return MemoryRun(code, ending, missing=built.missing, noted=noted)


def _with_report(run: MemoryRun, data: bytes, built: Built) -> MemoryRun:
    """Return the run with what the program reported, if it did."""
    ready, error, size, storage, state, object_size, offset, circumstance, *rest = _REPORT.unpack_from(data)
    live, lost, held, blind, *addresses, name = rest
    if run.code is None or ready != _READY:
        return run
    table = LineTable(built.executable.read_bytes() if error or live else b"")
    place, allocated, freed = (
        _line(table, addresses[start:end]) for start, end in pairwise((0, _PLACES, -_ORIGINS, len(addresses)))
    )
    about = None
    if storage:
        text = name.split(b"\0")[0].decode("utf-8", "replace")
        about = MemoryObject(_STORAGE[storage], object_size, offset, state == 1, text, allocated, freed)
    if error:
        fault = MemoryFault(_ERRORS[error], size, place, about, _CIRCUMSTANCES.get(circumstance, ""))
        run = replace(run, access=fault, ending=f"there was an {fault}")
    reasons = tuple(reason for bit, reason in _BLIND.items() if blind & bit)
    return replace(run, left=None if error else about, live=live, lost=lost, held=held, blind=reasons)


def _line(table: LineTable, addresses: Sequence[int]) -> Line | None:
    """Return the line of the innermost call that is in the program: its library has no lines."""
    return next((line for address in addresses if (line := table.line(address)) is not None), None)

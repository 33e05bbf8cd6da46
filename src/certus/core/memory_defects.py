"""What is wrong with memory at the end of a replayed trace, and the sentence that says so.

The interpreter knows the object that an invalid access meant, its bounds and its lifetime. A `MemoryDefect`
keeps them; all reports use its `sentence`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import Final

from certus.core.program import Access, Call, Program, Retained, Storage


class DefectKind(Enum):
    """The ways an access or the heap can be wrong."""

    OUT_OF_BOUNDS = "out-of-bounds"
    FREED = "freed"
    OUT_OF_SCOPE = "out-of-scope"
    NULL = "null"
    UNINITIALISED = "uninitialised"  # the address, or the number of bytes
    NO_OBJECT = "no-object"  # the address is near no object
    CONSTANT = "constant"  # a write to an object that must not be written
    NOT_START = "not-start"  # a free of the middle of an object
    NOT_HEAP = "not-heap"  # a free of an object that is not on the heap
    LOST = "lost"
    NOT_FREED = "not-freed"


class Loss(Enum):
    """How the last pointer to an object was lost."""

    OVERWRITTEN = "overwritten"
    RETURNED = "returned"  # the function whose variable it was has returned
    SCOPE = "scope"  # the local object that contained it has ended
    FREED = "freed"  # the object on the heap that contained it was freed
    NEVER_KEPT = "never-kept"  # no variable ever had it


@dataclass(frozen=True, slots=True)
class DefectObject:
    """The object that a defect is about: its size in bytes, and the edges where it began and, if it has
    ended, where it ended."""

    name: str
    storage: Storage
    size: int
    allocated: int
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class LostAt:
    """The step by which the last pointer to an object was lost, and its edge; for the return from a function
    the edge of its call."""

    loss: Loss
    step: int
    edge: int


@dataclass(frozen=True, slots=True)
class MemoryDefect:
    """A defect: what the program did (`question`), with `size` bytes at `offset` of an object. Without an
    object the offset is the address. `count` is the number of objects that are lost or not freed; `object` is
    the first of them."""

    kind: DefectKind
    question: Access | Retained
    offset: int = 0
    size: int = 0
    object: DefectObject | None = None
    count: int = 1
    lost: LostAt | None = None

    @property
    def cwe(self) -> int | None:
        """The number of the weakness in the Common Weakness Enumeration; None if there is no close one."""
        if self.kind is DefectKind.OUT_OF_BOUNDS or self.kind is DefectKind.NO_OBJECT:
            return {"read": 125, "write": 787}.get(self.question, 590)
        if self.kind is DefectKind.FREED and self.question == "free":
            return 415
        return _CWE.get(self.kind)

    def sentence(self, program: Program) -> str:
        """Return what is wrong, as a phrase without a full stop."""
        if self.kind in (DefectKind.LOST, DefectKind.NOT_FREED):
            return self._retained(program)
        act = "free" if self.question == "free" else f"{self.question} of {_bytes(self.size)}"
        target = self.object
        if target is None:
            return f"{act} {self._nowhere()}"
        where = f"offset {self.offset} of `{target.name}`"
        if self.question == "free":
            place = f"of `{target.name}`" if self.offset == 0 else f"of {where}"
        else:
            place = f"at {where}"
        return ", ".join((f"{act} {place}", *self._about(target, program)))

    def _about(self, target: DefectObject, program: Program) -> list[str]:
        """Return facts about the object for the sentence, first the one that makes the access invalid."""
        begin = _began(target, program)
        begun = [begin] if begin else []
        if self.kind is DefectKind.FREED:
            end = _line(target.ended, program)
            freed = "freed already" if self.question == "free" else "which is freed"
            return [*begun, f"freed{end}{' already' * (self.question == 'free')}" if end else freed]
        if self.kind is DefectKind.OUT_OF_SCOPE:
            return ["which is out of scope", *begun]
        if self.kind is DefectKind.CONSTANT:
            return ["which must not be written"]
        if self.kind is DefectKind.NOT_HEAP:
            return ["which is not on the heap", *begun]
        if self.kind is DefectKind.NOT_START:
            return ["which is not its start", *begun]
        return [f"which has {_bytes(target.size)}", *begun]

    def _nowhere(self) -> str:
        of = "of" if self.question == "free" else "through"
        if self.kind is DefectKind.UNINITIALISED:
            return f"{of} an uninitialised pointer"
        if self.kind is DefectKind.NULL:
            return (
                "through a null pointer" if self.offset == 0 else f"at offset {self.offset} of a null pointer"
            )
        return "of an address where no object is" if of == "of" else "at an address where no object is"

    def _retained(self, program: Program) -> str:
        assert self.object is not None
        line = _line(self.object.allocated, program)
        name = f"`{self.object.name}`, allocated{line}," if line else f"`{self.object.name}`"
        others = f" ({self.count - 1:,} more {'is' if self.count == 2 else 'are'})" if self.count > 1 else ""
        if self.kind is DefectKind.NOT_FREED:
            more = f", nor {'is 1 other' if self.count == 2 else f'are {self.count - 1:,} others'}"
            return f"{name} is not freed{more * (self.count > 1)}"
        return f"{name} is lost{others}: {self._loss(program)}"

    def _loss(self, program: Program) -> str:
        if self.lost is None:
            return "no variable leads to it at the end"
        line = _line(self.lost.edge, program)
        if self.lost.loss is Loss.RETURNED:
            call = program.edge[self.lost.edge]
            called = call.op.procedure if isinstance(call.op, Call) else ""
            function = f"of `{called}`" if called and not called.startswith("$") else "of a function"
            back = "" if call.source.procedure.startswith("$") else f"; it was called{line}" * bool(line)
            return f"the last pointer to it was a variable {function}, which has returned{back}"
        return {
            Loss.OVERWRITTEN: f"the last pointer to it was overwritten{line}",
            Loss.SCOPE: f"the last pointer to it went out of scope{line}",
            Loss.FREED: f"the last pointer to it was in an object that was freed{line}",
            Loss.NEVER_KEPT: "no pointer to it was kept",
        }[self.lost.loss]


_CWE: Final = {
    DefectKind.FREED: 416,
    DefectKind.OUT_OF_SCOPE: 416,
    DefectKind.NULL: 476,
    DefectKind.UNINITIALISED: 457,
    DefectKind.NOT_START: 590,
    DefectKind.NOT_HEAP: 590,
    DefectKind.LOST: 401,
    DefectKind.NOT_FREED: 401,
}


def _bytes(number: int) -> str:
    return f"{number:,} byte{'' if number == 1 else 's'}"


def _began(target: DefectObject, program: Program) -> str:
    line = _line(target.allocated, program)
    word = "allocated" if target.storage == "heap" or target.name == "alloca" else "declared"
    return f"{word}{line}" if line else ""


def _line(edge: int | None, program: Program) -> str:
    """Return ` at line 3`, with the file if it is not the first one; empty if the place is not known."""
    span = program.edge[edge].span if edge is not None and edge in program.edge else None
    if span is None:
        return ""
    elsewhere = "" if span.file == program.file else f" of {PurePath(span.file).name}"
    return f" at line {span.line}{elsewhere}"

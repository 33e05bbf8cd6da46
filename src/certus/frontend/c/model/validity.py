"""Checks of memory accesses: the questions that a program asks before an access, and the errors if the answer
is no.

An access needs no check if it is valid by construction: at a constant offset of an object that lives wherever
its name can be used, or to bytes that were checked just before. Checks in the models of the library have no
place in the source; reports show the call instead. Without a memory property nothing here takes any step.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.effects import targets
from certus.core.program import Access, BasicOp, Call, Free, Inspect, InspectHeap, Retained
from certus.core.terms import BOOL, Expr, Kind
from certus.core.vocabulary import ASSUMING, FREE, LEAK, NOT_FREED, READ, WRITE
from certus.core.walk import variables
from certus.core.witness import UNDEFINED
from certus.frontend.c.model.terms import NULL, U8

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_KINDS: Final[dict[Access, str]] = {"read": READ, "write": WRITE, "free": FREE}
_HEAP: Final[tuple[tuple[str, Retained, str], ...]] = (
    (LEAK, "tracked", "every object on the heap can still be reached by pointers"),
    (NOT_FREED, "freed", "every object on the heap has been freed"),
)
# Models whose accesses are valid: the caller checks the range, or the objects are the library's own.
_TRUSTED: Final = re.compile(r"__certus_(?!line|string|wide_string).*|atexit")
_ESCAPED: Final = "escaped"  # the variable that is 1 if a function without a body has got a pointer


@dataclass(frozen=True, slots=True)
class Checked:
    """Bytes that were found valid: from `start` to `end`, relative to an address. They stay so until
    something is called or ends, or a variable of the address changes."""

    base: Expr
    start: int
    end: int
    writable: bool

    def covers(self, base: Expr, offset: int, size: int, access: Access) -> bool:
        """Whether an access is to these bytes."""
        inside = self.start <= offset and offset + size <= self.end
        return base is self.base and inside and (access == "read" or (access == "write" and self.writable))

    def survives(self, op: BasicOp) -> bool:
        """Whether the bytes are still valid after a step."""
        if isinstance(op, Call | Free):
            return False
        written = targets(op)
        return not written or not any(variable in written for variable in variables(self.base))


def is_checked(body: Body, access: Access) -> bool:
    """Whether invalid accesses of this sort are errors here."""
    trusted = not body.unit.is_program(body.module) and _TRUSTED.fullmatch(body.name.removeprefix("$"))
    return _KINDS[access] in body.unit.rules.memory and not trusted


def check(body: Body, address: Expr, size: int | Expr, access: Access) -> None:
    """Make an invalid access to `size` bytes an error."""
    if not is_checked(body, access):
        return
    count = build.integer(size) if isinstance(size, int) else size
    if count is NULL or is_valid(body, address, count, access):
        return
    if body.cursor.probe is not None:
        if body.unit.rules.invariants:
            from certus.frontend.c.model.checks import claim_in_probe

            claim_in_probe(body, inspected(body, address, count, access), body.cursor.probe, UNDEFINED)
        return
    valid = inspected(body, address, count, access)
    body.claim(valid, _KINDS[access], _words(body, access, count))
    if count.kind is Kind.CONST:
        base, offset = split(address)
        body.checked.append(Checked(base, offset, offset + int(count.value), access == "write"))


def check_free(body: Body, address: Expr) -> None:
    """Make it an error if an address is neither null nor the start of a live object on the heap."""
    if is_checked(body, "free") and address is not NULL:
        valid = inspected(body, address, NULL, "free")
        body.claim(valid, FREE, f"{body.cursor.text} gets null or an object that `malloc` made")


def when_valid(body: Body, address: Expr, size: int | Expr, steps: Callable[[], None]) -> None:
    """Take steps that write `size` bytes; if they are errors elsewhere, only where they are valid: nothing is
    known about the accesses of a function without a body."""
    count = build.integer(size) if isinstance(size, int) else size
    if not is_checked(body, "write") or is_valid(body, address, count, "write"):
        steps()
    else:
        body.when(inspected(body, address, count, "write"), steps)


def inspected(body: Body, address: Expr, count: Expr, access: Access) -> Expr:
    """Ask whether an access is valid; return the answer."""
    valid = body.fresh(BOOL)
    body.emit(Inspect(valid, address, count, access))
    return valid


def is_valid(body: Body, address: Expr, count: Expr, access: Access) -> bool:
    """Whether an access is valid by construction."""
    if count.kind is not Kind.CONST:
        return False
    base, offset = split(address)
    if any(each.covers(base, offset, int(count.value), access) for each in body.checked):
        return True
    extent = body.extents.get(base)
    if extent is None:
        static = body.unit.symbols.static_object(base)
        if static is None or (access == "write" and static.variable.constant):
            return False
        extent = static.extent
    return offset >= 0 and offset + int(count.value) <= extent


def split(address: Expr) -> tuple[Expr, int]:
    """Return an address as a term and a constant offset."""
    if address.kind is not Kind.ADD:
        return address, 0
    offset = sum(int(term.value) for term in address.args if term.kind is Kind.CONST)
    return build.sub(address, build.integer(offset)), offset


def _words(body: Body, access: Access, count: Expr) -> str:
    """Describe an access in words."""
    number = f"{count.value} byte{'s' * (count.value != 1)}" if count.kind is Kind.CONST else "bytes"
    by = body.cursor.text if body.unit.is_program(body.module) else body.name.removeprefix("$")
    return f"{access} of {number} by {by}" if by and "__certus" not in by else f"{access} of {number}"


# ------------------------------------------------------------------------------------------- the heap


def check_heap(body: Body) -> None:
    """Check the objects on the heap where the program ends."""
    unit = body.unit
    kinds = [each for each in _HEAP if each[0] in unit.rules.memory]
    if not kinds or not unit.allocates or body.name in ASSUMING:
        return
    for kind, retained, text in kinds:
        if retained == "tracked" and unit.strangers:
            escaped = build.eq(unit.library.variable(_ESCAPED, U8), build.constant(1, U8))
            body.when(escaped, lambda: body.bar_counterexamples("what a function without a body keeps"))
        kept = body.fresh(BOOL)
        body.emit(InspectHeap(kept, retained))
        body.claim(kept, kind, text)


def note_escape(body: Body, address: Expr) -> None:
    """Note that a function without a body has got a pointer, which it may keep: no counterexample may rely on
    an object being lost after that."""
    if LEAK in body.unit.rules.memory and split(address)[0] not in body.extents:
        flag = body.unit.library.variable(_ESCAPED, U8)
        body.registers.assign(flag, build.constant(1, U8))

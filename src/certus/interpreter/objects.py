"""The objects of memory, and which of them are tracked: reached by pointers from variables, static objects
and the stack.

If `defined` of an object is None, all its bytes are known. Otherwise the set bits of `defined` mark the known
bits, and `symbolic` has, byte by byte, the values that are not integers.

A pointer is a word of the size of an address at any offset, or any value of a variable that may be an
address. So a pointer that was copied byte by byte tracks its object, and so does a number that happens to be
an address: a run may miss a lost object, but never reports a tracked one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

from certus.core.program import Access, Alloc, Retained, Storage
from certus.interpreter.indeterminate import Fault, Indeterminate, Unmodelled
from certus.interpreter.inputs import unknown
from certus.interpreter.unknown_addresses import Address, AddressBytes

Word = int  # or an object that takes its place: it implements the operations of integers, or raises
_LARGE: Final = 1 << 20  # bytes; larger objects consist of chunks, created on first access
Part = tuple[object, int, int]  # a value that is not an integer, its size, and which byte of it
Values = Callable[[], Iterable[object]]
_NONZERO: Final = re.compile(rb"[^\0]+")
_WORDS: Final = {4: Struct("<I").unpack_from, 8: Struct("<Q").unpack_from}


class MemoryObject:
    """An object, or a chunk of a large one. `size` is the number of bytes that may be accessed here: -1 after
    the end of the object, and for an object in chunks. `extent` is the size at its creation by `op` at
    `edge`. Once it is not live, `ended` is the edge of the `Free` that ended it (-1 if that is not known)."""

    __slots__ = (
        *("chunks", "data", "defined", "edge", "ended", "extent", "faults", "live"),
        *("op", "size", "start", "symbolic"),
    )
    ended: int

    def __init__(self, start: Word, extent: int, op: Alloc, edge: int, *, zero: bool) -> None:
        self.start = start
        self.extent = extent
        self.op = op
        self.edge = edge
        self.live = True
        self.chunks: dict[int, MemoryObject] | None = {} if extent > _LARGE else None
        self.size = -1 if extent > _LARGE else extent
        self.data = bytearray(max(self.size, 0))
        self.defined: bytearray | None = None if zero else bytearray(len(self.data))
        self.symbolic: dict[int, Part] | None = None  # by offset
        self.faults: dict[int, Fault] | None = None  # of undefined bytes that stand for something, by offset

    @property
    def name(self) -> str:
        """The name for messages."""
        return self.op.name

    @property
    def storage(self) -> Storage:
        """Where the object is."""
        return self.op.storage

    def end(self, edge: int) -> None:
        """End the lifetime of the object."""
        for chunk in (self.chunks or {}).values():
            chunk.end(edge)
        self.ended = edge
        self.live, self.size, self.data, self.chunks = False, -1, bytearray(), None
        self.defined = self.symbolic = self.faults = None

    def read(self, offset: int, width: int, *, signed: bool) -> object:
        """Return a value with unknown bits, or one that is not an integer."""
        assert self.defined is not None
        if self.symbolic is not None:
            value = self._symbolic_value(offset, width, signed=signed)
            if value is not None:
                return value
        bits = int.from_bytes(self.data[offset : offset + width], "little")
        missing = full(width) & ~int.from_bytes(self.defined[offset : offset + width], "little")
        if signed and missing >> 8 * width - 1:
            missing |= -1 << 8 * width
        elif signed and bits >> 8 * width - 1:
            bits -= 1 << 8 * width
        faults = self.faults or {}
        fault = next((faults[at] for at in range(offset, offset + width) if at in faults), None)
        if fault is not None:
            return Indeterminate(bits & ~missing, missing, fault)
        return Indeterminate.uninitialised(bits & ~missing, missing, f"at offset {offset} of `{self.name}`")

    def _symbolic_value(self, offset: int, width: int, *, signed: bool) -> object:
        assert self.symbolic is not None
        parts = [self.symbolic.get(offset + i) for i in range(width)]
        if not any(parts):
            return None
        first = parts[0]
        if (
            first is not None
            and all(p is not None and p[0] is first[0] and p[1:] == (width, i) for i, p in enumerate(parts))
            and not (signed and isinstance(first[0], Address))
        ):
            return first[0]
        if (
            first is not None
            and isinstance(first[0], Address)
            and all(
                p is not None and p[0] is first[0] and p[1:] == (first[1], first[2] + i)
                for i, p in enumerate(parts)
            )
        ):
            return AddressBytes(first[0], first[1], first[2])
        return unknown(f"part of `{self.name}`")

    def write(self, offset: int, width: int, value: object) -> None:
        """Write any value, over any contents."""
        if self.defined is None:
            self.defined = bytearray(b"\xff") * self.size
        end = offset + width
        for notes in (self.symbolic, self.faults):
            if notes is not None:
                for at in range(offset, end):
                    notes.pop(at, None)
        bits, defined = 0, 0
        if isinstance(value, int):
            bits, defined = value, -1
        elif isinstance(value, Indeterminate):
            bits, defined = value.bits, ~value.unknown
            if isinstance(value.fault, Unmodelled):
                self.faults = {**(self.faults or {}), **dict.fromkeys(range(offset, end), value.fault)}
        else:
            whole: Part = (value, width, 0)
            if isinstance(value, AddressBytes):
                whole = (value.address, value.width, value.first)
            self.symbolic = self.symbolic or {}
            self.symbolic.update((offset + i, (whole[0], whole[1], whole[2] + i)) for i in range(width))
        self.data[offset:end] = (bits & full(width)).to_bytes(width, "little")
        self.defined[offset:end] = (defined & full(width)).to_bytes(width, "little")

    def written(self, offset: int) -> int:
        """Return the bits of a byte that were written, also with a value that is not known."""
        if self.defined is None or self.op.is_written:
            return 255
        return (
            255 if offset in (self.symbolic or {}) or offset in (self.faults or {}) else self.defined[offset]
        )

    def keep(self, offset: int, bits: int) -> None:
        """Let only these bits of a byte count as written."""
        if bits == 255 or self.op.is_written:
            return
        if self.defined is None:
            self.defined = bytearray(b"\xff") * self.size
        self.defined[offset] &= bits
        for notes in (self.symbolic, self.faults):
            if notes is not None:
                notes.pop(offset, None)


def restored(start: int, extent: int, op: Alloc, data: bytes | None, defined: bytes | None) -> MemoryObject:
    """Return an object of a snapshot; one without data has ended."""
    target = MemoryObject(start, extent, op, -1, zero=True)
    if data is None:
        target.end(-1)
        return target
    target.data[:] = data
    target.defined = None if defined is None else bytearray(defined)
    return target


def full(width: int) -> int:
    """Return the greatest number of `width` bytes."""
    return (1 << 8 * width) - 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """A question of the edge `edge` that was answered with no: whether `size` bytes at a place (an object and
    an offset, or a number that is in no object) can be accessed, or whether all objects are retained, where
    `count` are not. `undetermined` if the address or the size has uninitialised bits."""

    edge: int
    question: Access | Retained
    place: tuple[MemoryObject | None, int]
    size: int
    count: int = 1
    undetermined: bool = False


def unreached(
    heap: Sequence[MemoryObject],
    roots: Iterable[MemoryObject],
    variables: Iterable[object],
    pointed: Callable[[object], MemoryObject | None],
    width: int,
) -> list[MemoryObject]:
    """Return the objects of `heap` that neither the variables nor the objects in `roots` lead to. `pointed`
    returns the object of a pointer; pointers have `width` bytes."""
    work = list(roots)
    reached = {id(o) for o in work}
    left = len(heap)

    def follow(values: Iterable[object]) -> None:
        nonlocal left
        for value in values:
            target = pointed(value)
            if target is not None and target.live and id(target) not in reached:
                reached.add(id(target))
                left -= 1
                work.append(target)

    follow(variables)
    while work and left:
        follow(pointers(work.pop(), width))
    return [o for o in heap if id(o) not in reached]


def pointers(owner: MemoryObject, width: int) -> Iterator[object]:
    """Yield the values in an object that may be pointers of `width` bytes."""
    if owner.chunks is None:
        yield from _words(owner.data, owner.defined, width)
        yield from _addresses(owner, width)
        return
    for index in sorted(owner.chunks):
        chunk, after = owner.chunks[index], owner.chunks.get(index + 1)
        yield from pointers(chunk, width)
        if after is not None:  # the words that are in both chunks
            both = [(each.defined or b"\xff" * each.size) for each in (chunk, after)]
            edge = bytearray(chunk.data[1 - width :] + after.data[: width - 1])
            yield from _words(edge, bytearray(both[0][1 - width :] + both[1][: width - 1]), width)


def _words(data: bytearray, defined: bytearray | None, width: int) -> Iterator[int]:
    """Yield the words at all offsets whose bytes are known, except for 0."""
    word, last, done = _WORDS[width], len(data) - width, 0
    known = b"\xff" * width
    for nonzero in _NONZERO.finditer(data):
        first, done = max(done, nonzero.start() - width + 1), min(nonzero.end(), last + 1)
        for at in range(first, done):
            if defined is None or defined[at : at + width] == known:
                yield word(data, at)[0]


def _addresses(owner: MemoryObject, width: int) -> Iterator[Address]:
    """Yield the symbolic addresses in an object."""
    parts = owner.symbolic or {}
    for at, (value, size, first) in parts.items():
        if isinstance(value, Address) and (size, first) == (width, 0):
            rest = [parts.get(at + i) for i in range(1, width)]
            if all(p is not None and p[0] is value and p[1:] == (width, i + 1) for i, p in enumerate(rest)):
                yield value

"""The memory of a run: objects of bytes, with their bounds, lifetimes and initialised bits.

Addresses are numbers from a counter: objects never overlap, and no address is used twice. Between objects
are gaps, wide while there are few objects, so that an access that misses its object hits nothing.
Everything stays below 2**32 for programs with 32-bit pointers.

An access first looks at the object its edge hit last (`Memory.seen`); only if that does not fit, the object
is searched for. An object whose `defined` is None has known bytes only. Otherwise the set bits of `defined`
are those that are known, and `strangers` keeps, byte by byte, values that are no numbers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from certus.core.program import Alloc, Free
from certus.validate.addresses import Address, Extent, Start
from certus.validate.expressions import Overgrown
from certus.validate.indeterminate import Fault, Indeterminate
from certus.validate.inputs import Contents, Nondeterministic, unknown

_FIRST: Final = 0x10000  # the first address: small numbers are nobody's address
_GAPS: Final = ((512, 1 << 20), (8192, 1 << 16), (65536, 1 << 12))  # for so many objects, a gap of so much
_LEAST_GAP: Final = 64
_LARGE: Final = 1 << 20  # bytes; larger objects are kept in chunks, made when touched
_CHUNK: Final = 1 << 16
_Part = tuple[Any, int, int]  # of a value that is no number: the value, its size, which byte of it
_SMALL: Final = 1 << 12  # bytes of all objects together, if states are to be kept
MemorySnapshot = tuple[tuple[Any, str, str, bytes, bytes | None], ...]
_GONE: Final = 10_000  # objects remembered after their end, for the sake of messages


class MemoryObject:
    """An object, or a chunk of a large one. `size` is what may be accessed here: -1 once it has ended, and
    for an object in chunks; `extent` is the size it was made with."""

    __slots__ = (
        "chunks",
        "data",
        "defined",
        "extent",
        "live",
        "name",
        "size",
        "start",
        "storage",
        "strangers",
    )

    def __init__(self, start: Any, extent: int, name: str, storage: str, *, zero: bool) -> None:
        self.start = start
        self.extent = extent
        self.name = name
        self.storage = storage
        self.live = True
        self.chunks: dict[int, MemoryObject] | None = {} if extent > _LARGE else None
        self.size = -1 if extent > _LARGE else extent
        self.data = bytearray(max(self.size, 0))
        self.defined: bytearray | None = None if zero else bytearray(len(self.data))
        self.strangers: dict[int, _Part] | None = None  # by offset: value, its size, which byte

    def end(self) -> None:
        for chunk in (self.chunks or {}).values():
            chunk.end()
        self.live, self.size, self.data, self.chunks = False, -1, bytearray(), None
        self.defined = self.strangers = None

    def read(self, offset: int, width: int, *, signed: bool) -> Any:
        """A value some bits of which are not known."""
        assert self.defined is not None
        if self.strangers is not None:
            stranger = self._stranger(offset, width, signed=signed)
            if stranger is not None:
                return stranger
        bits = int.from_bytes(self.data[offset : offset + width], "little")
        missing = _full(width) & ~int.from_bytes(self.defined[offset : offset + width], "little")
        if signed and missing >> 8 * width - 1:
            missing |= -1 << 8 * width
        elif signed and bits >> 8 * width - 1:
            bits -= 1 << 8 * width
        return Indeterminate.uninitialised(bits & ~missing, missing, f"at offset {offset} of `{self.name}`")

    def _stranger(self, offset: int, width: int, *, signed: bool) -> Any:
        assert self.strangers is not None
        found = [self.strangers.get(offset + i) for i in range(width)]
        if not any(found):
            return None
        first = found[0]
        if (
            first is not None
            and all(f is not None and f[0] is first[0] and f[1:] == (width, i) for i, f in enumerate(found))
            and not (signed and isinstance(first[0], Address))
        ):
            return first[0]
        return unknown(f"part of `{self.name}`")

    def write(self, offset: int, width: int, value: Any) -> None:
        """Write a value that is no number, or one over what may be none."""
        if self.defined is None:
            self.defined = bytearray(b"\xff") * self.size
        end = offset + width
        if self.strangers is not None:
            for at in range(offset, end):
                self.strangers.pop(at, None)
        bits, known = 0, 0
        if isinstance(value, int):
            bits, known = value, -1
        elif isinstance(value, Indeterminate):
            bits, known = value.bits, ~value.unknown
        else:
            self.strangers = self.strangers or {}
            self.strangers.update((offset + i, (value, width, i)) for i in range(width))
        self.data[offset:end] = (bits & _full(width)).to_bytes(width, "little")
        self.defined[offset:end] = (known & _full(width)).to_bytes(width, "little")


def _restored(start: Any, name: str, storage: str, data: bytes, defined: bytes | None) -> MemoryObject:
    made = MemoryObject(start, len(data), name, storage, zero=True)
    made.data[:] = data
    made.defined = None if defined is None else bytearray(defined)
    return made


def _full(width: int) -> int:
    return (1 << 8 * width) - 1


_NOWHERE: Final = MemoryObject(Start({}, 0), 0, "", "static", zero=True)


class Memory:
    """All objects of a run. `seen` has the object that each memory edge, by its slot, hit last. `contents`:
    what new objects contain, if it is arbitrary; None: unknown bytes (see `validate.inputs`)."""

    def __init__(self, slots: int, pointer_bits: int, contents: Contents | None = None) -> None:
        self._filled = contents is not None
        self._contents = {edge: iter(given) for edge, given in (contents or {}).items()}
        self.seen = [_NOWHERE] * slots
        self._bits = pointer_bits
        self._next = _FIRST
        self._count = 0
        self._starts: list[int] = []  # ascending; the objects are in the same order
        self._objects: list[MemoryObject] = []
        self._ended = 0  # how many of them are no longer live

    # -- states

    def snapshot(self) -> MemorySnapshot | None:
        """All live objects as they are; None if they are large, or contain what is no number."""
        live = [o for o in self._objects if o.live]
        if sum(o.extent for o in live) > _SMALL or any(o.strangers for o in live):
            return None
        return tuple(
            (o.start, o.name, o.storage, bytes(o.data), None if o.defined is None else bytes(o.defined))
            for o in live
        )

    def restore(self, state: MemorySnapshot) -> None:
        """Make the live objects those of a snapshot. Addresses behind the last are used again, so that equal
        states have equal futures; a pointer to what has ended may then point to something else."""
        self.seen[:] = [_NOWHERE] * len(self.seen)
        self._starts[:] = [start for start, *_ in state]
        self._objects[:] = [_restored(*each) for each in state]
        self._count, self._ended = len(state), 0
        last = self._objects[-1] if state else None
        self._next = _FIRST if last is None else last.start + last.extent + self._gap()

    # -- lifetimes

    def allocate(self, size: Any, op: Alloc, edge: int) -> Any:
        extent = _index(size)
        if extent < 0:
            raise Fault(f"an allocation of {extent} bytes")
        start = -(-self._next // op.align) * op.align
        self._next = start + extent + self._gap()
        if self._next >= 1 << self._bits:
            raise Overgrown(f"no addresses are left for an object of {extent} bytes")
        self._count += 1
        made = MemoryObject(start, extent, op.name, op.storage, zero=op.zero or self._filled)
        if edge in self._contents and not op.zero:
            given = next(self._contents[edge], b"")[: len(made.data)]
            made.data[: len(given)] = given
        self._objects.append(made)
        self._starts.append(start)
        return self._address(made)

    def _gap(self) -> int:
        return next((gap for count, gap in _GAPS if self._count < count), _LEAST_GAP)

    def _address(self, made: MemoryObject) -> Any:
        return made.start

    def free(self, address: Any, op: Free) -> None:
        """End an object. Null is nothing to free, nor is a scope whose object was not made."""
        found, offset = self._locate(address)
        stack = op.storage == "stack"
        if found is not None and offset == 0 and found.live and (stack or found.storage == "heap"):
            found.end()
            self._ended += 1
            if self._ended > 2 * _GONE and self._ended > len(self._objects) // 2:
                self._forget()
        elif not stack and not (found is None and offset == 0):
            raise Fault(_bad_free(found, offset))

    def _forget(self) -> None:
        recent = len(self._objects) - _GONE
        kept = [o for i, o in enumerate(self._objects) if o.live or i >= recent]
        self._objects[:] = kept
        self._starts[:] = [o.start for o in kept]
        self._ended = sum(not o.live for o in kept)

    # -- accesses

    def _locate(self, address: Any) -> tuple[MemoryObject | None, int]:
        """The last object that starts at or before an address, and the offset there."""
        number = _index(address)
        place = bisect_right(self._starts, number) - 1
        if place < 0:
            return None, number
        found = self._objects[place]
        return found, number - found.start

    def find(self, address: Any, width: int, slot: int, what: str) -> MemoryObject | None:
        """The object or chunk with the bytes at `address`; None if they are in two chunks. The access is
        told of in `what`: "read" or "write"."""
        found, offset = self._locate(address)
        if found is None or not found.live or not 0 <= offset <= found.extent - width:
            raise Fault(_bad_access(found, offset, width, what))
        if found.chunks is not None:
            number = offset // _CHUNK
            if (offset + width - 1) // _CHUNK != number:
                return None
            found = _chunk(found, number)
        self.seen[slot] = found
        return found

    def read_across(self, address: Any, slot: int, width: int, *, signed: bool) -> Any:
        """A read from two chunks."""
        one = loader(1, signed=False)
        value: Any = 0
        for i in range(width):
            value = value | one(self, address + i, slot) << 8 * i
        return (value + (1 << 8 * width - 1) & _full(width)) - (1 << 8 * width - 1) if signed else value

    def write_across(self, address: Any, slot: int, width: int, value: Any) -> None:
        """A write to two chunks."""
        one = storer(1, signed=False)
        for i in range(width):
            one(self, address + i, slot, value >> 8 * i & 255)


class OpaqueMemory(Memory):
    """Memory for a run that must not depend on addresses: these are `Address`es."""

    def _address(self, made: MemoryObject) -> Any:
        bases: dict[Extent, int] = {made: 1}
        made.start = Start(bases, 0)
        return Address(bases, 0, self._bits)

    def _forget(self) -> None:
        """Objects are not searched for."""
        self._objects.clear()
        self._starts.clear()
        self._ended = 0

    def _locate(self, address: Any) -> tuple[MemoryObject | None, int]:
        if not isinstance(address, Address):
            return None, _index(address)
        into = address.aim
        if not isinstance(into, MemoryObject):
            raise Nondeterministic("the run uses an address that is computed from several objects'")
        return into, address.offset


def _chunk(whole: MemoryObject, number: int) -> MemoryObject:
    assert whole.chunks is not None
    found = whole.chunks.get(number)
    if found is None:
        size = min(_CHUNK, whole.extent - number * _CHUNK)
        start = whole.start + number * _CHUNK
        found = MemoryObject(start, size, whole.name, whole.storage, zero=whole.defined is None)
        whole.chunks[number] = found
    return found


def _index(value: Any) -> int:
    """The number `value` is; what stands for an unknown one refuses, by an exception of its own."""
    number: int = value.__index__()
    return number


# --------------------------------------------------------------------------------- what went wrong


def _bad_access(found: MemoryObject | None, offset: int, width: int, what: str) -> str:
    act = f"a {what} of {width} byte{'s' * (width > 1)}"
    if found is None:
        return f"{act} through a null pointer" if offset == 0 else f"{act} at {offset}, where no object is"
    if not found.live and 0 <= offset < max(found.extent, 1):
        end = "freed" if found.storage == "heap" else "out of scope"
        return f"{act} at offset {offset} of `{found.name}`, which is {end}"
    if offset > 2 * found.extent + 4096:
        return f"{act} at an address where no object is"
    return f"{act} at offset {offset} of `{found.name}`, which has {found.extent} bytes"


def _bad_free(found: MemoryObject | None, offset: int) -> str:
    if found is None or offset > found.extent:
        return "a free of an address where no object is"
    if offset:
        return f"a free of the middle of `{found.name}`, {offset} bytes after its start"
    if not found.live:
        return f"a second free of `{found.name}`"
    return f"a free of `{found.name}`, which was not allocated on the heap"


# ------------------------------------------------------------------------------- access by width

Load = Callable[[Memory, Any, int], Any]
Store = Callable[[Memory, Any, int, Any], None]
_FORMATS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}


def loader(width: int, *, signed: bool) -> Load:
    """How integers of `width` bytes are read: memory, address and slot to value."""
    value_at, mask_at, full = _unpacker(width, signed=signed), _unpacker(width, signed=False), _full(width)

    def load(memory: Memory, address: Any, slot: int) -> Any:
        found = memory.seen[slot]
        offset = address - found.start
        if offset < 0 or offset + width > found.size:
            other = memory.find(address, width, slot, "read")
            if other is None:
                return memory.read_across(address, slot, width, signed=signed)
            found = other
            offset = address - found.start
        if found.defined is None or mask_at(found.defined, offset)[0] == full:
            return value_at(found.data, offset)[0]
        return found.read(offset, width, signed=signed)

    return load


def storer(width: int, *, signed: bool) -> Store:
    """How integers of `width` bytes are written: memory, address, slot and value."""
    put, mark, full = _packer(width, signed=signed), _packer(width, signed=False), _full(width)

    def store(memory: Memory, address: Any, slot: int, value: Any) -> None:
        found = memory.seen[slot]
        offset = address - found.start
        if offset < 0 or offset + width > found.size:
            other = memory.find(address, width, slot, "write")
            if other is None:
                return memory.write_across(address, slot, width, value)
            found = other
            offset = address - found.start
        if value.__class__ is int and found.strangers is None:
            put(found.data, offset, value)
            if found.defined is not None:
                mark(found.defined, offset, full)
        else:
            found.write(offset, width, value)
        return None

    return store


def _unpacker(width: int, *, signed: bool) -> Callable[[bytearray, int], tuple[Any, ...]]:
    form = _FORMATS.get(width)
    if form is not None:
        return Struct("<" + (form if signed else form.upper())).unpack_from

    def unpack(data: bytearray, offset: int) -> tuple[int]:
        return (int.from_bytes(data[offset : offset + width], "little", signed=signed),)

    return unpack


def _packer(width: int, *, signed: bool) -> Callable[[bytearray, int, int], None]:
    form = _FORMATS.get(width)
    if form is not None:
        return Struct("<" + (form if signed else form.upper())).pack_into

    def pack(data: bytearray, offset: int, value: int) -> None:
        data[offset : offset + width] = value.to_bytes(width, "little", signed=signed)

    return pack

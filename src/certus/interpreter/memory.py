"""The memory of a run: objects of bytes, with their bounds, lifetimes and initialised bits.

Addresses come from a counter: objects never overlap, and no address is used twice. There are gaps between
objects, wide ones while there are few objects, so that an access out of bounds hits no other object. All
addresses stay below 2**32 for programs with 32-bit pointers.

An access first tries the object that its edge accessed last (`Memory.seen`), and only then searches. If
`defined` of an object is None, all its bytes are known. Otherwise the set bits of `defined` mark the known
bits, and `symbolic` has, byte by byte, the values that are not integers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from struct import Struct
from typing import Final, cast

from certus.core.program import Alloc, Free
from certus.interpreter.expressions import Overgrown
from certus.interpreter.indeterminate import Fault, Indeterminate, Unmodelled, number
from certus.interpreter.inputs import Contents, Nondeterministic, unknown
from certus.interpreter.unknown_addresses import Address, Extent, Start

Word = int  # or an object that takes its place: it implements the operations of integers, or raises
_FIRST: Final = 0x10000  # the first address: small numbers are never addresses
_GAPS: Final = ((512, 1 << 20), (8192, 1 << 16), (65536, 1 << 12))  # (below this number of objects, the gap)
_LEAST_GAP: Final = 64
_LARGE: Final = 1 << 20  # bytes; larger objects consist of chunks, created on first access
_CHUNK: Final = 1 << 16
_Part = tuple[object, int, int]  # a value that is not an integer, its size, and which byte of it
_SNAPSHOT: Final = 1 << 12  # bytes of all objects in a snapshot, at most
MemorySnapshot = tuple[tuple[int, str, str, bytes, bytes | None], ...]
_REMEMBERED: Final = 10_000  # objects that have ended but can be named in messages


class MemoryObject:
    """An object, or a chunk of a large one. `size` is the number of bytes that may be accessed here: -1 after
    the end of the object, and for an object in chunks. `extent` is the size at its creation."""

    __slots__ = (
        *("chunks", "data", "defined", "extent", "faults", "live"),
        *("name", "size", "start", "storage", "symbolic"),
    )

    def __init__(self, start: Word, extent: int, name: str, storage: str, *, zero: bool) -> None:
        self.start = start
        self.extent = extent
        self.name = name
        self.storage = storage
        self.live = True
        self.chunks: dict[int, MemoryObject] | None = {} if extent > _LARGE else None
        self.size = -1 if extent > _LARGE else extent
        self.data = bytearray(max(self.size, 0))
        self.defined: bytearray | None = None if zero else bytearray(len(self.data))
        self.symbolic: dict[int, _Part] | None = None  # by offset
        self.faults: dict[int, Fault] | None = None  # of undefined bytes that stand for something, by offset

    def end(self) -> None:
        """End the lifetime of the object."""
        for chunk in (self.chunks or {}).values():
            chunk.end()
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
        missing = _full(width) & ~int.from_bytes(self.defined[offset : offset + width], "little")
        if signed and missing >> 8 * width - 1:
            missing |= -1 << 8 * width
        elif signed and bits >> 8 * width - 1:
            bits -= 1 << 8 * width
        for at in range(offset, offset + width):
            if self.faults is not None and at in self.faults:
                return Indeterminate(bits & ~missing, missing, self.faults[at])
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
            self.symbolic = self.symbolic or {}
            self.symbolic.update((offset + i, (value, width, i)) for i in range(width))
        self.data[offset:end] = (bits & _full(width)).to_bytes(width, "little")
        self.defined[offset:end] = (defined & _full(width)).to_bytes(width, "little")


def _restored(start: int, name: str, storage: str, data: bytes, defined: bytes | None) -> MemoryObject:
    restored = MemoryObject(start, len(data), name, storage, zero=True)
    restored.data[:] = data
    restored.defined = None if defined is None else bytearray(defined)
    return restored


def _full(width: int) -> int:
    return (1 << 8 * width) - 1


_NOWHERE: Final = MemoryObject(cast(int, Start({}, 0)), 0, "", "static", zero=True)


class Memory:
    """All objects of a run. `seen` has the object that each memory edge, by its slot, accessed last.
    `contents` are the bytes of new objects; if it is None they are unknown (see `interpreter.inputs`)."""

    def __init__(self, slots: int, pointer_bits: int, contents: Contents | None = None) -> None:
        self._filled = contents is not None
        self._contents = {edge: iter(objects) for edge, objects in (contents or {}).items()}
        self.seen = [_NOWHERE] * slots
        self._bits = pointer_bits
        self._next = _FIRST
        self._count = 0
        self._starts: list[int] = []  # ascending; the objects are in the same order
        self._objects: list[MemoryObject] = []
        self._ended = 0  # the number of objects that are not live

    # -- states

    def snapshot(self) -> MemorySnapshot | None:
        """Return all live objects; None if they are large, or contain a value that is not an integer."""
        live = [o for o in self._objects if o.live]
        if sum(o.extent for o in live) > _SNAPSHOT or any(o.symbolic for o in live):
            return None
        return tuple(
            (o.start, o.name, o.storage, bytes(o.data), None if o.defined is None else bytes(o.defined))
            for o in live
        )

    def restore(self, state: MemorySnapshot) -> None:
        """Make the objects of a snapshot the live ones. Addresses after the last one are used again, so that
        equal states continue equally; a dangling pointer may then point to another object."""
        self.seen[:] = [_NOWHERE] * len(self.seen)
        self._starts[:] = [start for start, *_ in state]
        self._objects[:] = [_restored(*each) for each in state]
        self._count, self._ended = len(state), 0
        last = self._objects[-1] if state else None
        self._next = _FIRST if last is None else last.start + last.extent + self._gap()

    # -- lifetimes

    def allocate(self, size: Word, op: Alloc, edge: int) -> Word:
        """Create an object and return its address."""
        extent = number(size)
        if extent < 0:
            raise Fault(f"an allocation of {extent} bytes")
        start = -(-self._next // op.align) * op.align
        self._next = start + extent + self._gap()
        if self._next >= 1 << self._bits:
            raise Overgrown(f"no addresses are left for an object of {extent} bytes")
        self._count += 1
        created = MemoryObject(start, extent, op.name, op.storage, zero=op.zero or self._filled)
        if edge in self._contents and not op.zero:
            first = next(self._contents[edge], b"")[: len(created.data)]
            created.data[: len(first)] = first
        self._objects.append(created)
        self._starts.append(start)
        return self._address(created)

    def _gap(self) -> int:
        return next((gap for count, gap in _GAPS if self._count < count), _LEAST_GAP)

    def _address(self, created: MemoryObject) -> Word:
        return created.start

    def free(self, address: Word, op: Free) -> None:
        """End an object. Freeing null has no effect, nor has the end of a scope before its object exists."""
        target, offset = self._locate(address)
        stack = op.storage == "stack"
        if target is not None and offset == 0 and target.live and (stack or target.storage == "heap"):
            target.end()
            self._ended += 1
            if self._ended > 2 * _REMEMBERED and self._ended > len(self._objects) // 2:
                self._forget()
        elif not stack and not (target is None and offset == 0):
            raise Fault(_bad_free(target, offset))

    def _forget(self) -> None:
        """Drop all but the most recent objects that have ended."""
        recent = len(self._objects) - _REMEMBERED
        kept = [o for i, o in enumerate(self._objects) if o.live or i >= recent]
        self._objects[:] = kept
        self._starts[:] = [o.start for o in kept]
        self._ended = sum(not o.live for o in kept)

    # -- accesses

    def _locate(self, address: object) -> tuple[MemoryObject | None, int]:
        """Return the last object that starts at or before an address, and the offset in it."""
        at = number(address)
        place = bisect_right(self._starts, at) - 1
        if place < 0:
            return None, at
        target = self._objects[place]
        return target, at - target.start

    def find(self, address: Word, width: int, slot: int, access: str) -> MemoryObject | None:
        """Return the object or chunk with the bytes at `address`; None if they are in two chunks. `access`
        is "read" or "write", for the message of a `Fault`."""
        target, offset = self._locate(address)
        if target is None or not target.live or not 0 <= offset <= target.extent - width:
            raise Fault(_bad_access(target, offset, width, access))
        if target.chunks is not None:
            index = offset // _CHUNK
            if (offset + width - 1) // _CHUNK != index:
                return None
            target = _chunk(target, index)
        self.seen[slot] = target
        return target

    def read_across(self, address: Word, slot: int, width: int, *, signed: bool) -> Word:
        """Read from two chunks."""
        load_byte = loader(1, signed=False)
        value = 0
        for i in range(width):
            value = value | load_byte(self, address + i, slot) << 8 * i
        return (value + (1 << 8 * width - 1) & _full(width)) - (1 << 8 * width - 1) if signed else value

    def write_across(self, address: Word, slot: int, width: int, value: Word) -> None:
        """Write to two chunks."""
        store_byte = storer(1, signed=False)
        for i in range(width):
            store_byte(self, address + i, slot, value >> 8 * i & 255)


class OpaqueMemory(Memory):
    """Memory for a run that must not depend on addresses: they are symbolic, of class `Address`."""

    def _address(self, created: MemoryObject) -> Word:
        bases: dict[Extent, int] = {created: 1}
        created.start = cast(int, Start(bases, 0))
        return cast(int, Address(bases, 0, self._bits))

    def _forget(self) -> None:
        """Drop all objects: an address has its object."""
        self._objects.clear()
        self._starts.clear()
        self._ended = 0

    def _locate(self, address: object) -> tuple[MemoryObject | None, int]:
        if not isinstance(address, Address):
            return None, number(address)
        target = address.target
        if not isinstance(target, MemoryObject):
            raise Nondeterministic("the run uses an address that is computed from several objects'")
        return target, address.offset


def _chunk(whole: MemoryObject, index: int) -> MemoryObject:
    assert whole.chunks is not None
    chunk = whole.chunks.get(index)
    if chunk is None:
        size = min(_CHUNK, whole.extent - index * _CHUNK)
        start = whole.start + index * _CHUNK
        chunk = MemoryObject(start, size, whole.name, whole.storage, zero=whole.defined is None)
        whole.chunks[index] = chunk
    return chunk


# --------------------------------------------------------------------------------- messages of faults


def _bad_access(target: MemoryObject | None, offset: int, width: int, access: str) -> str:
    act = f"a {access} of {width} byte{'s' * (width > 1)}"
    if target is None:
        return f"{act} through a null pointer" if offset == 0 else f"{act} at {offset}, where no object is"
    if not target.live and 0 <= offset < max(target.extent, 1):
        end = "freed" if target.storage == "heap" else "out of scope"
        return f"{act} at offset {offset} of `{target.name}`, which is {end}"
    if offset > 2 * target.extent + 4096:
        return f"{act} at an address where no object is"
    return f"{act} at offset {offset} of `{target.name}`, which has {target.extent} bytes"


def _bad_free(target: MemoryObject | None, offset: int) -> str:
    if target is None or offset > target.extent:
        return "a free of an address where no object is"
    if offset:
        return f"a free of the middle of `{target.name}`, {offset} bytes after its start"
    if not target.live:
        return f"a second free of `{target.name}`"
    return f"a free of `{target.name}`, which was not allocated on the heap"


# ------------------------------------------------------------------------------- access by width

Load = Callable[[Memory, Word, int], Word]
Store = Callable[[Memory, Word, int, Word], None]
_FORMATS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}


def loader(width: int, *, signed: bool) -> Load:
    """Return the function that reads integers of `width` bytes, from memory, address and slot."""
    value_at, mask_at, full = _unpacker(width, signed=signed), _unpacker(width, signed=False), _full(width)

    def load(memory: Memory, address: Word, slot: int) -> Word:
        target = memory.seen[slot]
        offset = address - target.start
        if offset < 0 or offset + width > target.size:
            other = memory.find(address, width, slot, "read")
            if other is None:
                return memory.read_across(address, slot, width, signed=signed)
            target = other
            offset = address - target.start
        if target.defined is None or mask_at(target.defined, offset)[0] == full:
            return value_at(target.data, offset)[0]
        return cast(int, target.read(offset, width, signed=signed))

    return load


def storer(width: int, *, signed: bool) -> Store:
    """Return the function that writes integers of `width` bytes, from memory, address, slot and value."""
    put, mark, full = _packer(width, signed=signed), _packer(width, signed=False), _full(width)

    def store(memory: Memory, address: Word, slot: int, value: Word) -> None:
        target = memory.seen[slot]
        offset = address - target.start
        if offset < 0 or offset + width > target.size:
            other = memory.find(address, width, slot, "write")
            if other is None:
                return memory.write_across(address, slot, width, value)
            target = other
            offset = address - target.start
        if value.__class__ is int and target.symbolic is None:
            put(target.data, offset, value)
            if target.defined is not None:
                mark(target.defined, offset, full)
        else:
            target.write(offset, width, value)
        return None

    return store


def _unpacker(width: int, *, signed: bool) -> Callable[[bytearray, int], tuple[int, ...]]:
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

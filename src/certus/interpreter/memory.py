"""The memory of a run: objects of bytes, with their bounds, lifetimes and initialised bits.

Addresses come from a counter: objects never overlap, and no address is used twice. There are gaps between
objects, wide ones while there are few objects, so that an access out of bounds hits no other object. All
addresses stay below 2**32 for programs with 32-bit pointers.

An access first tries the object that its edge accessed last (`Memory.seen`), and only then searches.

An `Inspect` is answered, never refused. Memory with numbers as addresses judges by the address: the gaps keep
an address that leaves its object from arriving in another one, unless it leaves by more than a gap. Then an
invalid access counts as valid, which can hide a violation from a run, but proves nothing: `OpaqueMemory`,
which proofs by execution use, judges by the object that an address was derived from.

An address or size with uninitialised bits is any number. If some number makes the access invalid, the answer
is no: such an execution exists. The answer is `presumed`, because others may exist as well: a run that goes
on without an error is then not the only one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from struct import Struct
from typing import Final, cast

from certus.core import build
from certus.core.program import Access, Alloc, Free, Retained
from certus.core.terms import INT
from certus.interpreter.expressions import Overgrown
from certus.interpreter.indeterminate import Fault, Indeterminate, Unmodelled, number
from certus.interpreter.inputs import Contents, Nondeterministic
from certus.interpreter.objects import (
    MemoryObject,
    Refusal,
    Values,
    Word,
    full,
    pointers,
    restored,
    unreached,
)
from certus.interpreter.unknown_addresses import Address, Extent, Start

_FIRST: Final = 0x10000  # the first address: small numbers are never addresses
_GAPS: Final = ((512, 1 << 20), (8192, 1 << 16), (65536, 1 << 12))  # (below this number of objects, the gap)
_LEAST_GAP: Final = 64
_CHUNK: Final = 1 << 16
_SNAPSHOT: Final = 1 << 12  # bytes of all objects in a snapshot, at most
MemorySnapshot = tuple[tuple[int, int, Alloc, bytes | None, bytes | None], ...]
_REMEMBERED: Final = 10_000  # objects that have ended but can be named in messages


_NOTHING: Final = Alloc(build.var("nothing", INT), build.integer(0), 1, "static", "", zero=True)
_NOWHERE: Final = MemoryObject(cast(int, Start({}, 0)), 0, _NOTHING, -1, zero=True)


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
        self.variables: Values | None = None  # the values of source variables that may be addresses
        self.refused: Refusal | None = None  # the last question that was answered with no
        self.presumed = ""  # the undetermined value on which an answer depends, if one does

    # -- states

    def snapshot(self) -> MemorySnapshot | None:
        """Return all live objects; None if they are large, or contain a value that is not an integer. If the
        program inspects addresses, objects that have ended and are pointed to belong to the state."""
        live = [o for o in self._objects if o.live]
        if sum(o.extent for o in live) > _SNAPSHOT or any(o.symbolic for o in live):
            return None
        kept = live
        if self.variables is not None and self._ended:
            dangling = {id(o) for o in self._dangling(live)}
            kept = [o for o in self._objects if o.live or id(o) in dangling]
        return tuple(
            (
                *(o.start, o.extent, o.op, bytes(o.data) if o.live else None),
                None if o.defined is None else bytes(o.defined),
            )
            for o in kept
        )

    def _dangling(self, live: Iterable[MemoryObject]) -> list[MemoryObject]:
        """Return the objects that have ended and that a variable or a live object points to."""
        assert self.variables is not None
        values = [*self.variables(), *(value for o in live for value in pointers(o, self._bits // 8))]
        targets = [self._pointed(value) for value in values]
        return [o for o in targets if o is not None and not o.live]

    def restore(self, state: MemorySnapshot) -> None:
        """Make the objects of a snapshot the only ones. Addresses after the last one are used again, so that
        equal states continue equally; a dangling pointer may then point to another object, unless its own is
        in the snapshot."""
        self.seen[:] = [_NOWHERE] * len(self.seen)
        self._starts[:] = [start for start, *_ in state]
        self._objects[:] = [restored(*each) for each in state]
        self._count, self._ended = len(state), sum(not o.live for o in self._objects)
        self.refused, self.presumed = None, ""
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
        created = MemoryObject(start, extent, op, edge, zero=op.zero or self._filled)
        if edge in self._contents:
            first = next(self._contents[edge], b"")[: len(created.data)]
            if not op.zero:
                created.data[: len(first)] = first
        self._objects.append(created)
        self._starts.append(start)
        return self._address(created)

    def _gap(self) -> int:
        return next((gap for count, gap in _GAPS if self._count < count), _LEAST_GAP)

    def _address(self, created: MemoryObject) -> Word:
        return created.start

    def free(self, address: Word, op: Free, edge: int) -> None:
        """End an object. Freeing null has no effect, nor has the end of a scope before its object exists."""
        target, offset = self._locate(address)
        stack = op.storage == "stack"
        if target is not None and offset == 0 and target.live and (stack or target.op.storage == "heap"):
            target.end(edge)
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
        return (value + (1 << 8 * width - 1) & full(width)) - (1 << 8 * width - 1) if signed else value

    def write_across(self, address: Word, slot: int, width: int, value: Word) -> None:
        """Write to two chunks."""
        store_byte = storer(1, signed=False)
        for i in range(width):
            store_byte(self, address + i, slot, value >> 8 * i & 255)

    # -- unwritten bits

    def written_bits(self, address: Word, width: int) -> int:
        """Answer an `InspectBits`."""
        places = [self._byte(address + i) for i in range(width)]
        return sum(target.written(offset) << 8 * i for i, (target, offset) in enumerate(places))

    def mark_bits(self, address: Word, width: int, bits: Word) -> None:
        """Take the bits that are not marked for unwritten. The others have a value, since they were stored
        just before."""
        for i in range(width):
            target, offset = self._byte(address + i)
            target.keep(offset, bits >> 8 * i & 255)

    def _byte(self, address: Word) -> tuple[MemoryObject, int]:
        """Return the object or chunk with a byte, and its offset there."""
        target, offset = self._locate(address)
        if target is None or not target.live or not 0 <= offset < target.extent:
            raise Fault(_bad_access(target, offset, 1, "read"))
        return (
            (_chunk(target, offset // _CHUNK), offset % _CHUNK)
            if target.chunks is not None
            else (target, offset)
        )

    # -- questions

    def inspect(self, address: object, size: object, access: Access, edge: int) -> bool:
        """Answer an `Inspect`. Raises `Nondeterministic` or `Unmodelled` if the answer depends on a value
        that must not decide a run."""
        if isinstance(address, Indeterminate) or isinstance(size, Indeterminate):
            return self._inspect_any(address, size, access, edge)
        count = number(size)
        if count == 0 and access != "free":
            return True
        target, offset = self._locate(address)
        if _is_valid(target, offset, count, access):
            return True
        self.refused = Refusal(edge, access, self._meant(target, offset), count)
        return False

    def _inspect_any(self, address: object, size: object, access: Access, edge: int) -> bool:
        """Answer an `Inspect` of an address or a size with uninitialised bits: whether every number in their
        places makes the access valid. Objects have no holes, so the least and the greatest one decide."""
        addresses: tuple[object, ...] = _bounds(address) if isinstance(address, Indeterminate) else (address,)
        count = _bounds(size)[1]
        if count == 0 and access != "free":
            return True
        if count is not None and None not in addresses:
            places = [self._locate(at) for at in addresses]
            valid = all(_is_valid(*place, count, access) for place in places)
            if valid and places[0][0] is places[-1][0] and (access != "free" or places[0] == places[-1]):
                return True
        self.presumed = "a pointer or a size that was never initialised"
        self.refused = Refusal(edge, access, (None, 0), 0 if count is None else count, undetermined=True)
        return False

    def inspect_heap(self, retained: Retained, edge: int) -> bool:
        """Answer an `InspectHeap`."""
        failing = self.lost() if retained == "tracked" else self._on_heap()
        if failing:
            self.refused = Refusal(edge, retained, (failing[0], 0), 0, len(failing))
        return not failing

    def lost(self) -> list[MemoryObject]:
        """Return the live objects on the heap that are not tracked (see `core.program.InspectHeap`)."""
        heap = self._on_heap()
        if not heap:
            return []
        assert self.variables is not None
        roots = [o for o in self._objects if o.live and o.storage != "heap"]
        return unreached(heap, roots, self.variables(), self._pointed, self._bits // 8)

    def tracked_starts(self) -> frozenset[int]:
        """Return the addresses of the live objects on the heap that are tracked."""
        lost = {id(o) for o in self.lost()}
        return frozenset(o.start for o in self._on_heap() if id(o) not in lost)

    def _on_heap(self) -> list[MemoryObject]:
        return [o for o in self._objects if o.live and o.storage == "heap"]

    def _pointed(self, value: object) -> MemoryObject | None:
        """Return the object that a value points into, or one past the end of; None if it is no pointer."""
        if not isinstance(value, int):
            return None
        target, offset = self._locate(value % (1 << self._bits))
        return target if target is not None and 0 <= offset <= target.extent else None

    def _meant(self, target: MemoryObject | None, offset: int) -> tuple[MemoryObject | None, int]:
        """Return the object that an invalid address is probably derived from, and the offset in it: the
        nearest one, unless the address is small or far from all of them."""
        at = offset if target is None else target.start + offset
        place = bisect_right(self._starts, at)
        after = self._objects[place] if place < len(self._objects) else None
        far = 2 * _GAPS[0][1]
        beyond = far if target is None else max(offset - target.extent, 0)
        before = far if after is None or at < _FIRST // 2 else after.start - at
        if min(beyond, before) >= far:
            return None, at
        if before < beyond and after is not None:
            return after, -before
        return target, offset

    def start_of(self, address: object) -> int:
        """Return the address of the object that an address lies in or near; -1 if there is none."""
        if not isinstance(address, int):
            return -1
        target, _ = self._meant(*self._locate(address))
        return -1 if target is None else target.start

    @property
    def first_refused(self) -> int:
        """The address of the first object that the last refused question is about; -1 if there is none."""
        target = None if self.refused is None else self.refused.place[0]
        return -1 if target is None else target.start


class OpaqueMemory(Memory):
    """Memory for a run that must not depend on addresses: they are symbolic, of class `Address`."""

    def _address(self, created: MemoryObject) -> Word:
        bases: dict[Extent, int] = {created: 1}
        created.start = cast(int, Start(bases, 0))
        return cast(int, Address(bases, 0, self._bits))

    def _forget(self) -> None:
        """Drop all objects that have ended: an address has its object."""
        self._objects[:] = [o for o in self._objects if o.live]
        self._starts.clear()
        self._ended = 0

    def _pointed(self, value: object) -> MemoryObject | None:
        target = value.target if isinstance(value, Address) else None
        if not isinstance(target, MemoryObject) or not isinstance(value, Address):
            return None
        return target if 0 <= value.offset <= target.extent else None

    def _meant(self, target: MemoryObject | None, offset: int) -> tuple[MemoryObject | None, int]:
        return target, offset

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
        chunk = MemoryObject(start, size, whole.op, whole.edge, zero=whole.defined is None)
        whole.chunks[index] = chunk
    return chunk


def _is_valid(target: MemoryObject | None, offset: int, width: int, access: Access) -> bool:
    """Return whether an access at an offset of an object is valid."""
    if access == "free":
        if target is None:
            return offset == 0
        return target.live and offset == 0 and target.storage == "heap"
    if target is None or not target.live or not 0 <= offset <= target.extent - width or width < 0:
        return False
    return access == "read" or not target.op.constant


def _bounds(value: object) -> tuple[int | None, int | None]:
    """Return the least and the greatest number that a value with uninitialised bits may be; None where there
    is no bound. Raises `Unmodelled` for a value that is not modelled."""
    if not isinstance(value, Indeterminate):
        return number(value), number(value)
    if isinstance(value.fault, Unmodelled):
        number(value)  # raises
    return (None, None) if value.unknown < 0 else (value.bits, value.bits | value.unknown)


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
    value_at, mask_at, known = _unpacker(width, signed=signed), _unpacker(width, signed=False), full(width)

    def load(memory: Memory, address: Word, slot: int) -> Word:
        target = memory.seen[slot]
        offset = address - target.start
        if offset < 0 or offset + width > target.size:
            other = memory.find(address, width, slot, "read")
            if other is None:
                return memory.read_across(address, slot, width, signed=signed)
            target = other
            offset = address - target.start
        if target.defined is None or mask_at(target.defined, offset)[0] == known:
            return value_at(target.data, offset)[0]
        return cast(int, target.read(offset, width, signed=signed))

    return load


def storer(width: int, *, signed: bool) -> Store:
    """Return the function that writes integers of `width` bytes, from memory, address, slot and value."""
    put, mark, known = _packer(width, signed=signed), _packer(width, signed=False), full(width)

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
                mark(target.defined, offset, known)
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

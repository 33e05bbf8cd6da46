"""Which objects on the heap are tracked: reached by pointers from variables, static objects and the stack.

A pointer is a word of the size of an address at any offset, or any value of a variable that may be an
address. So a pointer that was copied byte by byte tracks its object, and so does a number that happens to be
an address: a run may miss a lost object, but never reports a tracked one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Final

from certus.core.program import Access, Retained
from certus.interpreter.unknown_addresses import Address

if TYPE_CHECKING:
    from certus.interpreter.memory import MemoryObject

Part = tuple[object, int, int]  # a value that is not an integer, its size, and which byte of it
Values = Callable[[], Iterable[object]]
_NONZERO: Final = re.compile(rb"[^\0]+")
_WORDS: Final = {4: Struct("<I").unpack_from, 8: Struct("<Q").unpack_from}


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
    for found in _NONZERO.finditer(data):
        first, done = max(done, found.start() - width + 1), min(found.end(), last + 1)
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

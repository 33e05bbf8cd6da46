"""Bytes and bits of records that no member has. An initialiser gives them no value."""

from __future__ import annotations

from collections.abc import Iterator

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Store
from certus.core.sorts import MachineSort, machine
from certus.core.terms import Expr
from certus.frontend.c.lower import places
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.world import World
from certus.frontend.c.types import ArrayType, CType, RecordType, unqualified

_ALL = 0xFF  # the bits of a byte


def leave_open(body: Body, address: Expr, type_: CType, name: str, span: Span) -> None:
    """Give the padding of an object any value; a counterexample must not depend on it. Objects of many
    scalars are left as they are: compilers clear these as a whole."""
    if places.leaves(body.world, type_, places.UNROLLED) is None:
        return
    text, what = body.text(span), f"the padding of `{name}`"
    for offset, sort, mask in _padding(body.world, type_):
        value = build.bit_and(body.havoc(sort, span, text, approximates=what), build.constant(mask, sort))
        body.emit(Store(build.add(address, build.integer(offset)), value), span, text)


def _padding(world: World, type_: CType) -> Iterator[tuple[int, MachineSort, int]]:
    """Words, and bits of them, that no member has."""
    used = _used(world, type_)
    at = 0
    while at < len(used):
        if used[at] == 0:
            end = next((i for i in range(at, len(used)) if used[i]), len(used))
            for offset, sort in places.words(end, at):
                yield offset, sort, sort.high
            at = end
            continue
        if used[at] != _ALL:
            yield at, machine(8, signed=False), _ALL & ~used[at]
        at += 1


def _used(world: World, type_: CType) -> bytearray:
    """Of each byte of an object, the bits that some member has. A union has all of its bytes."""
    used = bytearray(world.layout.size(type_))
    stack: list[tuple[int, CType]] = [(0, type_)]
    while stack:
        offset, part = stack.pop()
        plain = unqualified(part)
        record = world.unit.types.records[plain.identity] if isinstance(plain, RecordType) else None
        if isinstance(plain, ArrayType):
            size = world.layout.size(plain.element)
            stack.extend((offset + i * size, plain.element) for i in range(plain.length or 0))
        elif record is None or record.union:
            size = world.layout.size(plain)
            used[offset : offset + size] = bytes([_ALL]) * size
        else:
            for member in record.fields:
                place = world.layout.field_offset(record.identity, member.identity)
                if place.bits is None:
                    stack.append((offset + place.offset, member.type))
                elif member.name:
                    for bit in range(place.bit, place.bit + place.bits):
                        used[offset + place.offset + bit // 8] |= 1 << bit % 8
    return used

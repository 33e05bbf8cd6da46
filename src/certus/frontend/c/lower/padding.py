"""Bytes and bits of an object that no member has, or of a union that the member in use does not have. An
initialiser gives them no value."""

from __future__ import annotations

from collections.abc import Iterator

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import Store
from certus.core.terms import Expr
from certus.frontend.c.lower import places
from certus.frontend.c.lower.arguments import havoc_elements
from certus.frontend.c.lower.body import Body
from certus.frontend.c.lower.world import World
from certus.frontend.c.types import ArrayType, CType, Field, RecordType, unqualified

_ALL = 0xFF  # the bits of a byte


def leave_open(body: Body, address: Expr, type_: CType, name: str, span: Span) -> None:
    """Give the padding of an object any value; a counterexample must not depend on it. Objects of many
    scalars are left as they are: compilers clear these as a whole."""
    if _is_small(body.world, type_):
        _set_freely(body, address, _used(body.world, type_), f"the padding of `{name}`", span)


def leave_rest_open(body: Body, address: Expr, union: CType, member: Field, name: str, span: Span) -> None:
    """The same for what a union has beyond the member that is initialised."""
    world = body.world
    used = bytearray(world.layout.size(union))
    if member.bits is not None:
        _mark_bits(used, 0, member.bits)
    elif _is_small(world, member.type):
        used[: world.layout.size(member.type)] = _used(world, member.type)
    else:
        _mark_bytes(used, 0, world.layout.size(member.type))
    _set_freely(body, address, used, f"the bytes of `{name}` beside `{member.name}`", span)


def _is_small(world: World, type_: CType) -> bool:
    return places.leaves(world, type_, places.UNROLLED) is not None


def _set_freely(body: Body, address: Expr, used: bytearray, what: str, span: Span) -> None:
    text = body.text(span)
    for start, end, mask in _unused(used):
        if end - start > 8 * places.UNROLLED:
            from_here, count = build.add(address, build.integer(start)), build.integer(end - start)
            havoc_elements(body, from_here, count, 1, span, what)
            continue
        for offset, sort in places.words(end, start):
            value = body.havoc(sort, span, text, approximates=what)
            if mask != _ALL:
                value = build.bit_and(value, build.constant(mask, sort))
            body.emit(Store(build.add(address, build.integer(offset)), value), span, text)


def _unused(used: bytearray) -> Iterator[tuple[int, int, int]]:
    """Where stretches of unused bytes, or of unused bits of one byte, start and end, and these bits."""
    at = 0
    while at < len(used):
        end = at + 1
        if used[at] == 0:
            end = next((i for i in range(end, len(used)) if used[i]), len(used))
        if used[at] != _ALL:
            yield at, end, _ALL & ~used[at]
        at = end


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
            _mark_bytes(used, offset, world.layout.size(plain))
        else:
            for member in record.fields:
                place = world.layout.field_offset(record.identity, member.identity)
                if place.bits is None:
                    stack.append((offset + place.offset, member.type))
                elif member.name:
                    _mark_bits(used, 8 * (offset + place.offset) + place.bit, place.bits)
    return used


def _mark_bytes(used: bytearray, first: int, count: int) -> None:
    used[first : first + count] = bytes([_ALL]) * count


def _mark_bits(used: bytearray, first: int, count: int) -> None:
    for bit in range(first, first + count):
        used[bit // 8] |= 1 << bit % 8

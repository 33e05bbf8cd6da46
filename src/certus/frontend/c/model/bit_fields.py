"""Find the bytes that accesses to bit-fields need.

Clang reads a bit-field as the unit that it is stored in, and writes it by reading this unit, changing some
bits and writing the unit back. Only the bytes with bits of the field count as accessed: the unit may be
larger than the object. Clang names the instructions of such accesses (`bf.load`, `bf.set`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from certus.core.program import Access
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Integer, Local
from certus.frontend.c.model.checks import is_checked

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

Bytes = tuple[int, int]  # the first one, and their number
Bits = tuple[int, int]  # the first one, and the one behind the last
_SIZES: Final = (1, 2, 4, 8)


def read_bytes(body: Body, load: ir.Load) -> tuple[Bytes, Access] | None:
    """Return the bytes of the fields that are read from a unit or, if it is read only to be changed, of the
    field that is written. None if all bytes are needed, or if no access is checked."""
    if not (load.name or "").startswith("bf.load") or not is_checked(body, "read"):
        return None
    width = 8 * body.layout.store_size(load.type)
    uses = _uses(body, load, width)
    if not uses or any(bits is None for bits, _ in uses):
        return None
    everything = [bits for bits, _ in uses if bits is not None]
    bytes_ = _bytes((min(low for low, _ in everything), max(high for _, high in everything)), width)
    return None if bytes_ is None else (bytes_, "read" if any(reads for _, reads in uses) else "write")


def _uses(body: Body, load: ir.Load, width: int) -> list[tuple[Bits | None, bool]]:
    """Return the bits of a unit that each operation uses, None if it may use all, and whether it reads them:
    others are about to be written."""
    return [
        (_cleared(use, width), False)
        if isinstance(use, ir.Binary) and _sets(body, use)
        else (_used(body, use, width), True)
        for use in body.flow.uses.get(load.name or "", ())
    ]


def read_bits(body: Body, load: ir.Load) -> int:
    """Return the bits of a unit that are read, as a number."""
    width, number = 8 * body.layout.store_size(load.type), 0
    for bits, reads in _uses(body, load, width):
        low, high = bits or (0, width)
        number |= ((1 << high) - (1 << low)) * reads
    return number


def changed_unit(body: Body, store: ir.Store) -> tuple[str, int]:
    """Return the name of the unit that a store writes back, and the bits that it changes; no name if the
    store is not one of a bit-field."""
    unit = _unit(body, store)
    if unit is None:
        return "", 0
    load, clear = unit
    low, high = _cleared(clear, 8 * body.layout.store_size(load.type))
    return load.name or "", (1 << high) - (1 << low)


def written_bytes(body: Body, store: ir.Store) -> tuple[Bytes, Access] | None:
    """Return the bytes of the field that the store of a unit writes, and how they were checked when the unit
    was read; None if it writes all bytes."""
    unit = _unit(body, store) if is_checked(body, "write") else None
    return None if unit is None else read_bytes(body, unit[0])  # the same bytes: all of them have been read


def _unit(body: Body, store: ir.Store) -> tuple[ir.Load, ir.Binary] | None:
    """Return the load of the unit that a store writes back, and the operation that clears a field in it."""
    value = body.flow.definition(store.value)
    if isinstance(value, ir.Binary) and (value.name or "").startswith("bf.set"):
        value = body.flow.definition(value.left)
    if not isinstance(value, ir.Binary) or not _sets(body, value):
        return None
    unit = body.flow.definition(value.left)
    return (unit, value) if isinstance(unit, ir.Load) and (unit.name or "").startswith("bf.load") else None


def _bytes(bits: Bits, width: int) -> Bytes | None:
    """Return the bytes that some bits are in, unless it is the whole unit."""
    first, last = bits[0] // 8, -(-bits[1] // 8)
    count = next((size for size in _SIZES if size >= last - first), width)
    if 8 * (first + count) > width:
        first = width // 8 - count
    return (first, count) if first >= 0 and 8 * count < width else None


def _sets(body: Body, clear: ir.Binary) -> bool:
    """Return whether an operation clears the bits of a field, so that the unit can be stored with other
    ones."""
    if clear.operation != "and" or not isinstance(clear.right, Integer):
        return False
    match body.flow.only_use(clear.name or ""), body.flow.definition(clear.left):
        case ir.Binary(name=str(name)), _:
            return name.startswith("bf.set")
        case ir.Store(pointer=Local(name=to)), ir.Load(pointer=Local(name=source)):
            return to == source
    return False


def _cleared(clear: ir.Binary, width: int) -> Bits:
    """Return the bits that an operation clears."""
    assert isinstance(clear.right, Integer)
    field = ~clear.right.value % (1 << width)
    return (field & -field).bit_length() - 1, field.bit_length()


def _used(body: Body, use: ir.Instruction, width: int) -> Bits | None:
    """Return the bits of a unit that an operation on it uses; None if it may use all."""
    if not isinstance(use, ir.Binary) or not isinstance(use.right, Integer):
        return None
    number = use.right.value % (1 << width)
    match use.operation, body.flow.only_use(use.name or ""):
        case "and", _:
            return 0, number.bit_length()
        case "shl", ir.Binary(operation="ashr", right=Integer(value=back)) if back >= number:
            return back - number, width - number  # a signed field: shifted to the left end, and then back
        case "lshr" | "ashr", ir.Binary(operation="and", right=Integer(value=mask)):
            return number, number + (mask % (1 << width)).bit_length()
        case "lshr" | "ashr", _:
            return number, width
    return None

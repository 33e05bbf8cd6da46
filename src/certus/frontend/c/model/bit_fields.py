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
from certus.frontend.c.model.validity import is_checked

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

Bytes = tuple[int, int]  # the first one, and their number
Bits = tuple[int, int]  # the first one, and the one behind the last
_SIZES: Final = (1, 2, 4, 8)


def read_bytes(body: Body, load: ir.Load) -> tuple[Bytes, Access] | None:
    """Return the bytes of the fields that are read from a unit or, if it is read only to be changed, of the
    field that is written. None if all bytes are needed, or if no access is checked."""
    name = load.name or ""
    if not name.startswith("bf.load") or not is_checked(body, "read"):
        return None
    width = 8 * body.layout.store_size(load.type)
    read: list[Bits] = []
    written: list[Bits] = []
    for use in body.flow.uses.get(name, ()):
        if isinstance(use, ir.Binary) and _sets(body, use):
            written.append(_cleared(use, width))
            continue
        bits = _used(body, use, width)
        if bits is None:
            return None
        read.append(bits)
    everything = read + written
    if not everything:
        return None
    bytes_ = _bytes((min(low for low, _ in everything), max(high for _, high in everything)), width)
    return None if bytes_ is None else (bytes_, "read" if read else "write")


def written_bytes(body: Body, store: ir.Store) -> tuple[Bytes, Access] | None:
    """Return the bytes of the field that the store of a unit writes, and how they were checked when the unit
    was read; None if it writes all bytes."""
    if not isinstance(store.value, Local) or not is_checked(body, "write"):
        return None
    value = body.flow.definitions.get(store.value.name)
    if isinstance(value, ir.Binary) and (value.name or "").startswith("bf.set"):
        value = body.flow.definitions.get(value.left.name) if isinstance(value.left, Local) else None
    if not isinstance(value, ir.Binary) or not _sets(body, value) or not isinstance(value.left, Local):
        return None
    unit = body.flow.definitions.get(value.left.name)
    if not isinstance(unit, ir.Load) or not (unit.name or "").startswith("bf.load"):
        return None
    return read_bytes(body, unit)  # the same bytes, so that all that is written has been read


def _bytes(bits: Bits, width: int) -> Bytes | None:
    """Return the bytes that some bits are in, unless it is the whole unit."""
    first, last = bits[0] // 8, -(-bits[1] // 8)
    count = next((size for size in _SIZES if size >= last - first), width)
    if 8 * (first + count) > width:
        first = width // 8 - count
    return (first, count) if first >= 0 and 8 * count < width else None


def _sets(body: Body, clear: ir.Binary) -> bool:
    """Whether an operation clears the bits of a field, so that the unit can be stored with other ones."""
    if clear.operation != "and" or not isinstance(clear.right, Integer):
        return False
    use = body.flow.only_use(clear.name or "")
    if isinstance(use, ir.Binary):
        return (use.name or "").startswith("bf.set")
    unit = body.flow.definitions.get(clear.left.name) if isinstance(clear.left, Local) else None
    if not isinstance(use, ir.Store) or not isinstance(unit, ir.Load):
        return False
    same = isinstance(use.pointer, Local) and isinstance(unit.pointer, Local)
    return same and getattr(use.pointer, "name", "") == getattr(unit.pointer, "name", None)


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
    if use.operation == "and":
        return 0, number.bit_length()
    following = body.flow.only_use(use.name or "")
    then = following if isinstance(following, ir.Binary) and isinstance(following.right, Integer) else None
    amount = None if then is None or not isinstance(then.right, Integer) else then.right.value % (1 << width)
    if use.operation == "shl":  # a signed field: shifted to the left end, and then back
        signed = then is not None and then.operation == "ashr" and amount is not None and amount >= number
        return (amount - number, width - number) if signed and amount is not None else None
    if use.operation in ("lshr", "ashr"):
        masked = then is not None and then.operation == "and" and amount is not None
        return (number, number + amount.bit_length()) if masked and amount is not None else (number, width)
    return None

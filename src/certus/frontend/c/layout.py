"""Sizes, alignments and offsets, as the System V ABIs for i386 and x86-64 and Clang have them.

A bit-field goes to the next free bit unless it would cross the boundary of its type's storage unit. It is
accessed through a storage unit of its own choice, which shares no byte with members other than bit-fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from certus.frontend.c.typenames import refusal
from certus.frontend.c.types import (
    ArrayType,
    CType,
    Field,
    FloatType,
    FunctionType,
    IntegerType,
    PointerType,
    Qualified,
    Record,
    RecordType,
    Types,
    VariableArrayType,
    VoidType,
)

LARGEST_ALIGN: Final = 16  # of `__attribute__((aligned))`


class NoSize(ValueError):
    """The type is incomplete, or Certus does not know its size; `code` is that of a refusal."""

    def __init__(self, what: str, code: str = "unsupported-type") -> None:
        super().__init__(what)
        self.code = code


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """Where a member is: `offset` bytes from the start of its record.

    For a bit-field, `offset` is that of its storage unit, in which it has `bits` bits from `bit` on."""

    offset: int
    bit: int = 0
    bits: int | None = None
    storage: IntegerType | None = None


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """`size` and `align` in bytes; `places` of the fields by identity."""

    size: int
    align: int
    places: dict[str, FieldPlace]


@dataclass(frozen=True, slots=True)
class Outline:
    """The layout of a record in bits: its size, its alignment, and where each field starts."""

    size: int
    align: int
    offsets: tuple[int, ...]


class Layout:
    """The layout of the types of one translation unit. Records are laid out once, when first asked for."""

    def __init__(self, types: Types) -> None:
        self.types = types
        self._records: dict[str, RecordLayout] = {}

    def size(self, type_: CType) -> int:
        """Bytes; raises `NoSize` for incomplete types. `void` and functions have size 1, as in GNU C."""
        return self._size_align(type_)[0]

    def align(self, type_: CType) -> int:
        while isinstance(type_, VariableArrayType | Qualified):
            type_ = type_.type if isinstance(type_, Qualified) else type_.element
        return self._size_align(type_)[1]

    def preferred_align(self, type_: CType) -> int:
        """What GNU C's `__alignof__` says: on i386 more than the ABI asks of 8-byte scalars."""
        inner = type_
        while isinstance(inner, Qualified | ArrayType):
            inner = inner.type if isinstance(inner, Qualified) else inner.element
        scalar = isinstance(inner, IntegerType | FloatType) and self.size(inner) == 8
        return 8 if scalar else self.align(type_)

    def record(self, identity: str) -> RecordLayout:
        """Raises `NoSize` for a record that is only declared."""
        found = self._records.get(identity)
        return found if found is not None else self._lay_out(identity)

    def field_offset(self, record_identity: str, field_identity: str) -> FieldPlace:
        place = self.record(record_identity).places.get(field_identity)
        if place is None:
            raise NoSize("a member of another record")
        return place

    def outline(self, identity: str) -> Outline:
        """Raises `NoSize` as `record` does."""
        found = self.record(identity)
        places = [found.places[field.identity] for field in self.types.records[identity].fields]
        offsets = tuple(8 * place.offset + place.bit for place in places)
        return Outline(8 * found.size, 8 * found.align, offsets)

    def _size_align(self, type_: CType) -> tuple[int, int]:
        """Nesting of arrays is followed by iteration."""
        factor = 1
        while isinstance(type_, Qualified | ArrayType):
            if isinstance(type_, Qualified):
                type_ = type_.type
            else:
                if type_.length is None:
                    raise NoSize("an array of unknown length")
                factor *= type_.length
                type_ = type_.element
        size, align = self._single(type_)
        return size * factor, align

    def _single(self, type_: CType) -> tuple[int, int]:
        model = self.types.model
        if isinstance(type_, IntegerType) and type_.exact:
            align = min(max(1 << (type_.width - 1).bit_length(), 8), 8 * model.long_long_align) // 8
            return _up(_up(type_.width, 8) // 8, align), align
        if isinstance(type_, IntegerType):
            size = type_.width // 8
            return size, min(size, model.long_long_align) if size == 8 else size
        if isinstance(type_, PointerType):
            return model.pointer // 8, model.pointer // 8
        if isinstance(type_, FloatType):
            return type_.size, type_.align
        if isinstance(type_, RecordType):
            layout = self.record(type_.identity)
            return layout.size, layout.align
        if isinstance(type_, VoidType | FunctionType):
            return 1, 1
        code, what = refusal(type_)
        raise NoSize(what, code)

    # ------------------------------------------------------------------------------ records

    def _lay_out(self, identity: str) -> RecordLayout:
        """Lay out the record, and those it contains before it."""
        pending = [identity]
        while pending:
            record = self.types.records.get(pending[-1])
            if record is None:
                raise NoSize("a record whose members are not known")
            inner = [name for field in record.fields for name in _records_in(field.type)]
            missing = [name for name in inner if name not in self._records]
            if missing:
                if len(pending) > len(self.types.records):
                    raise NoSize("a record that contains itself")
                pending.append(missing[0])
            else:
                self._records[pending.pop()] = _Placing(self, record).run()
        return self._records[identity]


def _records_in(type_: CType) -> tuple[str, ...]:
    while isinstance(type_, Qualified | ArrayType):
        type_ = type_.type if isinstance(type_, Qualified) else type_.element
    return (type_.identity,) if isinstance(type_, RecordType) else ()


class _Placing:
    """The state of laying out one record: `end` is the first free bit."""

    def __init__(self, layout: Layout, record: Record) -> None:
        self.layout = layout
        self.record = record
        self.end = 0
        self.size = 0  # in bits
        self.align = 1
        self.bits: dict[str, int] = {}  # first bit of every field

    def run(self) -> RecordLayout:
        for field in self.record.fields:
            if self.record.union:
                self.end = 0
            if field.bits is None:
                self._member(field)
            else:
                self._bit_field(field, field.bits)
            self.size = max(self.size, self.end)
        self.align = max(self.align, self.record.align or 1)
        size = _up(_up(self.size, 8) // 8, self.align)
        places: dict[str, FieldPlace] = {}
        for number, field in enumerate(self.record.fields):
            bit = self.bits[field.identity]
            if field.bits is None:
                places[field.identity] = FieldPlace(bit // 8)
            else:
                begin, stop = self._room(self.record.fields, number, size)
                places[field.identity] = _storage(field, bit, begin, stop, self.layout)
        return RecordLayout(size, self.align, places)

    def _alignment(self, field: Field) -> tuple[int, int]:
        """Size (of a flexible array: 0) and alignment of the field's type, in bytes."""
        type_ = field.type
        if isinstance(type_, ArrayType) and type_.length is None:
            align = self.layout.align(type_.element)
            return 0, field.type_align or align
        size, align = self.layout.size(type_), self.layout.align(type_)
        return size, field.type_align or align

    def _member(self, field: Field) -> None:
        size, align = self._alignment(field)
        if self.record.packed or field.packed:
            align = 1
        align = max(align, field.align or 1)
        if self.record.pack is not None:
            align = min(align, self.record.pack)
        begin = _up(_up(self.end, 8) // 8, align)
        self.bits[field.identity] = begin * 8
        self.end = (begin + size) * 8
        self.align = max(self.align, align)

    def _bit_field(self, field: Field, bits: int) -> None:
        unit, align = self._alignment(field)
        align *= 8  # everything is in bits here
        explicit = (field.align or 0) * 8
        unpacked = max(align, explicit)
        packed = self.record.packed or field.packed
        align = max(1, explicit) if packed and bits != 0 else unpacked
        pack = None if self.record.pack is None else self.record.pack * 8
        if pack is not None and bits != 0:
            align = min(unpacked if packed else align, pack)
        begin = self.end
        if bits == 0 or (pack is None and begin % align + bits > unit * 8):
            begin = _up(begin, align)
        elif explicit and (pack is None or explicit <= pack):
            begin = _up(begin, explicit)
        self.bits[field.identity] = begin
        self.end = begin + bits
        if field.name:  # an unnamed bit-field does not align its record
            self.align = max(self.align, align // 8)

    def _room(self, fields: Sequence[Field], number: int, size: int) -> tuple[int, int]:
        """The bytes around the bit-field that no other kind of member uses: first and end."""
        if self.record.union:
            return 0, size
        begin, stop = 0, size
        for field in reversed(fields[:number]):
            if field.bits is None:
                width = self._alignment(field)[0]
                begin = self.bits[field.identity] // 8 + width
                break
        for field in fields[number + 1 :]:
            if field.bits is None:
                stop = self.bits[field.identity] // 8
                break
        return begin, stop


def _storage(field: Field, bit: int, begin: int, stop: int, layout: Layout) -> FieldPlace:
    """The access unit of a bit-field: that of its type where it has room, else the smallest that has.

    As a last resort the unit is not a power of two: the very bytes of the field."""
    bits = field.bits or 0
    natural = layout.size(field.type)
    first, last = bit // 8, max(bit + bits - 1, bit) // 8
    for size in (natural, 1, 2, 4, 8, 16):
        for offset in (first // size * size, first, last + 1 - size, stop - size):
            if begin <= offset <= first and last < offset + size <= stop:
                return FieldPlace(offset, bit - offset * 8, bits, _unit(size))
    return FieldPlace(first, bit % 8, bits, _unit(last + 1 - first))


def _unit(size: int) -> IntegerType:
    """An unsigned type of that many bytes."""
    names = {1: ("unsigned char", 1), 2: ("unsigned short", 2), 4: ("unsigned int", 3)}
    name, rank = names.get(size, ("unsigned long long", 5) if size == 8 else (f"u{size * 8}", 6))
    return IntegerType(name, size * 8, False, rank)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step

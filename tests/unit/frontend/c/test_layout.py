"""Layouts with numbers written down by hand; `laws/test_c_layout.py` compares with Clang."""

from __future__ import annotations

import pytest
from tests.unit.frontend.c.shown import read

from certus.frontend.c.layout import FieldPlace, Layout, NoSize
from certus.frontend.c.types import (
    ILP32,
    INT_TYPE,
    LP64,
    ArrayType,
    DataModel,
    Field,
    OtherType,
    PointerType,
    Record,
    RecordType,
    Types,
    VoidType,
)
from certus.frontend.c.typetext import CHAR, LONG_LONG


def laid_out(record: Record, model: DataModel = LP64) -> Layout:
    return Layout(Types(model, {record.identity: record}))


def members(*types: object, packed: bool = False) -> Record:
    fields = tuple(Field(f"f{n}", f"f{n}", type_) for n, type_ in enumerate(types))  # type: ignore[arg-type]
    return Record("r", "r", False, fields, packed)


def test_padding_and_the_i386_rule_for_long_long() -> None:
    record = members(CHAR, LONG_LONG, CHAR)
    large, small = laid_out(record), laid_out(record, ILP32)
    assert (large.record("r").size, large.record("r").align) == (24, 8)
    assert (small.record("r").size, small.record("r").align) == (16, 4)
    assert large.field_offset("r", "f1") == FieldPlace(8)
    assert small.field_offset("r", "f1") == FieldPlace(4)
    assert small.preferred_align(LONG_LONG) == 8


def test_packed_records_have_no_padding() -> None:
    layout = laid_out(members(CHAR, INT_TYPE, CHAR, packed=True))
    assert (layout.record("r").size, layout.record("r").align) == (6, 1)


def test_bit_fields_share_a_storage_unit() -> None:
    fields = (Field("a", "a", INT_TYPE, 3), Field("b", "b", INT_TYPE, 28), Field("c", "c", INT_TYPE, 4))
    layout = laid_out(Record("r", "r", False, fields))
    a, b, c = (layout.field_offset("r", name) for name in "abc")
    assert (a.offset, a.bit, b.offset, b.bit, c.offset, c.bit) == (0, 0, 0, 3, 4, 0)
    assert a.storage == b.storage
    assert layout.record("r").size == 8


def test_a_storage_unit_does_not_reach_into_other_members() -> None:
    fields = (Field("c", "c", CHAR), Field("b", "b", INT_TYPE, 3), Field("d", "d", CHAR))
    layout = laid_out(Record("r", "r", False, fields))
    place = layout.field_offset("r", "b")
    assert (place.offset, place.bit) == (1, 0)
    assert place.storage is not None
    assert place.storage.width == 8


def test_a_flexible_array_takes_no_room() -> None:
    layout = laid_out(members(CHAR, ArrayType(INT_TYPE, None)))
    assert layout.record("r").size == 4
    assert layout.field_offset("r", "f1") == FieldPlace(4)


def test_unions_begin_at_zero() -> None:
    fields = (Field("a", "a", CHAR), Field("b", "b", ArrayType(INT_TYPE, 3)))
    layout = laid_out(Record("r", "r", True, fields))
    assert layout.record("r").size == 12
    assert layout.field_offset("r", "b") == FieldPlace(0)


def test_types_without_a_size() -> None:
    layout = Layout(Types(LP64))
    for type_ in (ArrayType(INT_TYPE, None), RecordType("r", "r"), OtherType("x")):
        with pytest.raises(NoSize):
            layout.size(type_)
    assert (layout.size(VoidType()), layout.size(PointerType(VoidType()))) == (1, 8)


def test_a_record_that_contains_itself_has_no_size() -> None:
    with pytest.raises(NoSize):
        laid_out(members(RecordType("r", "r"))).record("r")


def test_attributes_reach_the_layout() -> None:
    unit = read(
        """typedef int wide __attribute__((aligned(8)));
        struct a { char c; wide w; }; struct b { char c; int p __attribute__((packed)); };
        struct __attribute__((aligned(32))) c { char c; };
        #pragma pack(2)
        struct d { char c; int i; };
        #pragma pack()
        int main(void) { return sizeof(struct a) + sizeof(struct d); }"""
    )
    layout = Layout(unit.types)
    sizes = [layout.record(f"struct {name}").size for name in "abcd"]
    assert sizes == [16, 5, 32, 6]


def test_records_nest_deeply() -> None:
    records = {"r0": Record("r0", "r0", False, (Field("f", "f", INT_TYPE),))}
    for n in range(1, 3000):
        records[f"r{n}"] = Record(f"r{n}", "", False, (Field("f", "f", RecordType(f"r{n - 1}", "")),))
    assert Layout(Types(LP64, records)).size(RecordType("r2999", "")) == 4

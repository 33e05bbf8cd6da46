"""Sizes, alignments and offsets of random records are those that Clang computes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.laws.c_layouts import clang_layouts, record_texts

from certus.frontend.c.layout import Layout
from certus.frontend.c.reader import read_unit
from certus.frontend.c.types import DATA_MODELS


@pytest.mark.parametrize("model", ["ILP32", "LP64"])
def test_layouts_agree_with_clang(model: str) -> None:
    compared = 0

    @settings(derandomize=True, deadline=None, max_examples=15, database=None)
    @given(record_texts())
    def check(text: str) -> None:
        nonlocal compared
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "records.c"
            path.write_text(text)
            unit = read_unit(path, model=DATA_MODELS[model])
            theirs = clang_layouts(path, model)
        layout = Layout(unit.types)
        for tag, (size, align, members) in theirs.items():
            if tag not in unit.types.records or not tag.split()[1].startswith("r"):
                continue
            record = unit.types.records[tag]
            ours = layout.record(tag)
            bits = {
                field.name: place.offset * 8 + place.bit
                for field in record.fields
                if field.name
                for place in [layout.field_offset(tag, field.identity)]
            }
            wanted = {name: bit for name, bit in members.items() if name in bits}
            assert (ours.size, ours.align, bits) == (size, align, wanted), f"{tag} in\n{text}"
            _check_storage(layout, unit.types.records[tag].fields, tag, ours.size)
            compared += 1

    check()
    assert compared > 60


def _check_storage(layout: Layout, fields: tuple, tag: str, size: int) -> None:  # type: ignore[type-arg]
    """The storage unit of a bit-field holds all its bits and lies within the record."""
    for field in fields:
        place = layout.field_offset(tag, field.identity)
        if field.bits:
            assert place.storage is not None
            assert place.bit + field.bits <= place.storage.width
            assert 0 <= place.offset <= place.offset + place.storage.width // 8 <= size

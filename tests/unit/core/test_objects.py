"""Lvalues for parts of objects: exactly the bytes that were asked for, or none."""

from __future__ import annotations

import pytest

from certus.core.memory import extent, lvalue
from certus.core.program import ArrayShape, RecordShape, ScalarShape, Shape

BYTE, SHORT, WORD = (ScalarShape(width, signed=True) for width in (8, 16, 32))
POINTER = ScalarShape(64, signed=False, pointer=True)
PAIR = RecordShape((("low", 0, SHORT), ("high", 2, SHORT)))
UNION = RecordShape((("number", 0, WORD), ("parts", 0, PAIR)))
WHOLE = RecordShape(
    (("kind", 0, BYTE), ("pairs", 2, ArrayShape(2, 4, PAIR)), ("", 12, UNION), ("next", 16, POINTER))
)


@pytest.mark.parametrize(
    ("shape", "offset", "width", "text"),
    [
        (WORD, 0, 4, "x"),
        (WORD, 0, 2, None),
        (WORD, 4, 4, None),
        (ArrayShape(3, 4, WORD), 8, 4, "x[2]"),
        (ArrayShape(3, 4, WORD), 12, 4, None),
        (ArrayShape(3, 4, WORD), -4, 4, None),
        (ArrayShape(3, 4, WORD), 2, 4, None),
        (ArrayShape(2, 12, ArrayShape(3, 4, WORD)), 20, 4, "x[1][2]"),
        (WHOLE, 0, 1, "x.kind"),
        (WHOLE, 1, 1, None),
        (WHOLE, 8, 2, "x.pairs[1].high"),
        (WHOLE, 12, 4, "x.number"),
        (WHOLE, 14, 2, "x.parts.high"),
        (WHOLE, 16, 8, "x.next"),
    ],
)
def test_the_lvalue_of_these_bytes(shape: Shape, offset: int, width: int, text: str | None) -> None:
    named = lvalue("x", shape, offset, width)
    assert (None if named is None else named[0]) == text
    assert named is None or named[1].width == 8 * width


def test_what_certainly_belongs_to_an_object() -> None:
    assert [extent(shape) for shape in (WORD, ArrayShape(3, 4, WORD), WHOLE, None)] == [4, 12, 0, 0]

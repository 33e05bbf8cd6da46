"""Types in sentences: C's own syntax, and the reason of a refusal."""

from __future__ import annotations

import pytest

from certus.frontend.c.typenames import refusal, type_name
from certus.frontend.c.types import (
    INT_TYPE,
    LP64,
    ArrayType,
    CType,
    DataModel,
    FloatType,
    FunctionType,
    OtherType,
    PointerType,
    Qualified,
    RecordType,
    VariableArrayType,
    VoidType,
)
from certus.frontend.c.typetext import parse_type

NODE = RecordType("struct node#2", "struct node")


class Names:
    model: DataModel = LP64

    def typedef(self, name: str) -> CType | None:
        return None

    def tag(self, kind: str, name: str) -> CType | None:
        return NODE if name == "node" else None

    def typeof(self, text: str) -> CType | None:
        return None

    def doubt(self, kind: str, name: str) -> bool:
        return False


@pytest.mark.parametrize(
    "text",
    [
        "int",
        "const unsigned long",
        "struct node *",
        "int[3][4]",
        "int[n + 1][4]",
        "int (*)[n]",
        "int *[4]",
        "char *const",
        "const char *const *",
        "void (*)(int, ...)",
        "int (*(*)(void))(char)",
        "void (*[3])(struct node *)",
        "_Complex double",
        "unsigned _BitInt(9) *",
    ],
)
def test_a_type_is_written_as_it_is_read(text: str) -> None:
    assert type_name(parse_type(text, Names())) == text


def test_inner_names_are_not_shown() -> None:
    assert type_name(FunctionType(VoidType(), None)) == "void ()"
    assert type_name(ArrayType(Qualified(NODE, volatile=True), None)) == "volatile struct node[]"


@pytest.mark.parametrize(
    ("type_", "code"),
    [
        (FloatType("double", 8, 8), "unsupported-float"),
        (FloatType("_Complex float", 8, 4), "unsupported-float"),
        (OtherType("__attribute__((__vector_size__(4 * sizeof(int)))) int"), "unsupported-vector"),
        (OtherType("__attribute__((__vector_size__(4 * sizeof(float)))) float"), "unsupported-float"),
        (OtherType("_Atomic(int)"), "unsupported-atomic"),
        (OtherType("void (^)(void)"), "unsupported-block"),
        (VariableArrayType(PointerType(INT_TYPE), "n"), "unsupported-vla"),
        (OtherType("stranger"), "unsupported-type"),
    ],
)
def test_the_reason_of_a_refusal(type_: CType, code: str) -> None:
    found, what = refusal(type_)
    assert found == code
    assert "Type(" not in what

"""Clang's type strings."""

from __future__ import annotations

import pytest

from certus.frontend.c.types import (
    ILP32,
    INT_TYPE,
    LP64,
    ArrayType,
    CType,
    DataModel,
    FloatType,
    FunctionType,
    IntegerType,
    OtherType,
    PointerType,
    Qualified,
    RecordType,
    VariableArrayType,
    VoidType,
)
from certus.frontend.c.typetext import (
    BOOL,
    CHAR,
    LONG_LONG,
    UNSIGNED,
    difference_type,
    parse_type,
    size_type,
)

NODE = RecordType("struct node", "struct node")
UNNAMED = RecordType("struct $unnamed", "struct (unnamed)")
VOID = VoidType()


class Table:
    """A few names."""

    def __init__(self, model: DataModel = LP64) -> None:
        self.model = model

    def typedef(self, name: str) -> CType | None:
        return {"u32": UNSIGNED, "vec": ArrayType(INT_TYPE, 3)}.get(name)

    def tag(self, kind: str, name: str) -> CType | None:
        if "/a b/f (1).c:3:9" in name:
            return UNNAMED
        return {("struct", "node"): NODE, ("enum", "color"): UNSIGNED}.get((kind, name))

    def typeof(self, text: str) -> CType | None:
        return {"x": INT_TYPE, "((struct node *)0)->next": PointerType(NODE)}.get(text)

    def doubt(self, kind: str, name: str) -> bool:
        return name == "twice"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", INT_TYPE),
        ("unsigned int", UNSIGNED),
        ("_Bool", BOOL),
        ("long long", LONG_LONG),
        ("unsigned long", IntegerType("unsigned long", 64, False, 4)),
        ("unsigned __int128", IntegerType("unsigned __int128", 128, False, 6)),
        ("signed char", IntegerType("signed char", 8, True, 1)),
        ("const char *", PointerType(Qualified(CHAR, const=True))),
        ("char *const", Qualified(PointerType(CHAR), const=True)),
        ("char *restrict", PointerType(CHAR)),
        ("const volatile int", Qualified(INT_TYPE, const=True, volatile=True)),
        ("int[2][3]", ArrayType(ArrayType(INT_TYPE, 3), 2)),
        ("int[]", ArrayType(INT_TYPE, None)),
        ("const int[4]", ArrayType(Qualified(INT_TYPE, const=True), 4)),
        ("const vec", ArrayType(Qualified(INT_TYPE, const=True), 3)),
        ("int[n]", VariableArrayType(INT_TYPE, "n")),
        ("int[n + 1][4]", VariableArrayType(ArrayType(INT_TYPE, 4), "n + 1")),
        ("int (*)[2][n]", PointerType(VariableArrayType(VariableArrayType(INT_TYPE, "n"), "2"))),
        ("_Complex double", FloatType("_Complex double", 16, 8)),
        ("_Complex int", FloatType("_Complex int", 8, 4)),
        ("int (*)[4]", PointerType(ArrayType(INT_TYPE, 4))),
        ("int *[4]", ArrayType(PointerType(INT_TYPE), 4)),
        ("int ()", FunctionType(INT_TYPE, None)),
        ("int (void)", FunctionType(INT_TYPE, ())),
        ("int (const int, u32 *, ...)", FunctionType(INT_TYPE, (INT_TYPE, PointerType(UNSIGNED)), True)),
        ("void (*)(void)", PointerType(FunctionType(VOID, ()))),
        ("void (*[3])(int)", ArrayType(PointerType(FunctionType(VOID, (INT_TYPE,))), 3)),
        (
            "int (*(*)(int))(char)",
            PointerType(FunctionType(PointerType(FunctionType(INT_TYPE, (CHAR,))), (INT_TYPE,))),
        ),
        (
            "int (int (*)(void), struct node)",
            FunctionType(INT_TYPE, (PointerType(FunctionType(INT_TYPE, ())), NODE)),
        ),
        ("void (void) __attribute__((noreturn))", FunctionType(VOID, ())),
        ("void (*)(int) __attribute__((noreturn))", PointerType(FunctionType(VOID, (INT_TYPE,)))),
        ("struct node *", PointerType(NODE)),
        ("enum color", UNSIGNED),
        ("struct (unnamed at /a b/f (1).c:3:9)[2]", ArrayType(UNNAMED, 2)),
        ("struct node::(anonymous at /a b/f (1).c:3:9)", UNNAMED),
        ("struct main()::(anonymous struct)::(anonymous at /a b/f (1).c:3:9) *", PointerType(UNNAMED)),
        ("struct (unnamed struct at /a b/f (1).c:3:9)", UNNAMED),
        ("typeof (x) *", PointerType(INT_TYPE)),
        (
            "const typeof (((struct node *)0)->next) *",
            PointerType(Qualified(PointerType(NODE), const=True)),
        ),
        ("double", FloatType("double", 8, 8)),
        ("long double", FloatType("long double", 16, 16)),
    ],
)
def test_types(text: str, expected: CType) -> None:
    assert parse_type(text, Table()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "_Atomic(double)",
        "__attribute__((__vector_size__(4 * sizeof(int)))) int",
        "void (^)(void)",
        "unknown_name",
        "struct stranger",
        "<builtin fn type>",
        "_BitInt(n)",
        "int __attribute__((address_space(1)))*",
        "int (",
        "",
    ],
)
def test_what_is_not_modelled_says_its_name(text: str) -> None:
    assert parse_type(text, Table()) == OtherType(text)


def test_the_data_model_decides() -> None:
    small = Table(ILP32)
    assert parse_type("long", small) == IntegerType("long", 32, True, 4)
    assert parse_type("double", small) == FloatType("double", 8, 4)
    assert parse_type("long double", small) == FloatType("long double", 12, 4)
    assert (size_type(ILP32), size_type(LP64).name) == (UNSIGNED, "unsigned long")
    assert (difference_type(ILP32), difference_type(LP64).name) == (INT_TYPE, "long")


def test_a_name_with_several_meanings_has_none() -> None:
    for text in ("twice *", "struct twice[3]", "int (enum twice)"):
        found = parse_type(text, Table())
        assert isinstance(found, OtherType)
        assert found.code == "unsupported-ambiguous-type"

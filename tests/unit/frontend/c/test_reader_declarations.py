"""Declarations: merging, records, enumerations, initialisers, attributes, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontend.c.shown import read, show

from certus.core.errors import InputError
from certus.frontend.c import ast
from certus.frontend.c.ast import Storage
from certus.frontend.c.reader import read_unit
from certus.frontend.c.types import LP64, ArrayType, FunctionType, IntegerType, RecordType


def initialised(text: str, model: str = "LP64") -> dict[str, str]:
    return {variable.name: show(value) for variable, value in read(text, model).initialisers}


def test_redeclarations_are_one_object() -> None:
    unit = read(
        "extern int a[]; int t; int t; static int s; static int s = 4; extern int e;"
        "int a[3]; int main(void) { extern int t; return a[0] + t + s + e; }"
    )
    found = {variable.name: variable for variable in unit.variables}
    assert list(found) == ["a", "t", "s", "e"]
    assert found["a"].type == ArrayType(IntegerType("int", 32, True, 3), 3)
    assert [variable.defined for variable in unit.variables] == [True, True, True, False]
    assert [(variable.name, show(value)) for variable, value in unit.initialisers] == [("s", "4")]


def test_only_what_main_uses_is_read() -> None:
    unit = read(
        "int unused = 1; int f(void); int g(void) { return f(); } int h(void) { return 1; }"
        "int (*table[])(void) = { g }; int main(void) { return table[0](); }"
    )
    assert list(unit.functions) == ["main", "g", "f"]
    assert unit.functions["f"].body is None
    assert [variable.name for variable in unit.variables] == ["table"]


def test_without_main_every_function_is_read() -> None:
    assert list(read("int f(void) { return 1; } int g(void);").functions) == ["f"]


def test_old_style_functions_and_calls_without_prototype() -> None:
    unit = read("int f(a, b) int a; char b; { return a + b; } int main() { return f(1, 2) + g(3); }")
    assert [parameter.name for parameter in unit.functions["f"].parameters] == ["a", "b"]
    assert unit.functions["f"].parameters[1].type == IntegerType("char", 8, True, 1)
    assert unit.functions["g"].type == FunctionType(IntegerType("int", 32, True, 3), None)


def test_static_locals_are_static() -> None:
    unit = read(
        "int f(void) { static int n = 5; return n++; } int main(void) { static int n; return f() + n; }"
    )
    assert [(v.name, v.function, v.storage) for v in unit.variables] == [
        ("n", "main", Storage.STATIC),
        ("n", "f", Storage.STATIC),
    ]
    assert [(v.function, show(value)) for v, value in unit.initialisers] == [("f", "5")]


def test_noreturn() -> None:
    unit = read(
        "void a(void) __attribute__((noreturn)); _Noreturn void b(void); void c(void);"
        "int main(void) { a(); b(); c(); }"
    )
    assert [unit.functions[name].noreturn for name in "abc"] == [True, True, False]


def test_initialisers_have_one_entry_for_each_place() -> None:
    text = """
    struct p { int x, y; }; union u { int i; char c[4]; };
    int a[10] = { [3] = 1, 2 };
    int m[2][2] = { { 1 }, { [1] = 4 } };
    struct p p = { .y = 2 };
    union u u = { .c = "hi" };
    struct p *q = &(struct p){ 5, 6 };
    int main(void) { return a[0] + m[0][0] + p.x + u.i + q->x; }"""
    found = initialised(text)
    zero = "(ZeroInitialiser )"
    assert found["a"] == f"(InitialiserList [{zero} {zero} {zero} 1 2] {zero} -)"
    rows = f"[(InitialiserList [1] {zero} -) (InitialiserList [{zero} 4] {zero} -)]"
    assert found["m"] == f"(InitialiserList {rows} - -)"
    assert found["p"] == f"(InitialiserList [{zero} 2] - -)"
    assert found["u"] == r"(InitialiserList [b'hi\x00\x00'] - .c)"
    assert found["q"] == "(AddressOf (CompoundLiteral  (InitialiserList [5 6] - -)))"


def test_unnamed_bit_fields_have_no_entry_among_records() -> None:
    text = """
    struct p { int x; };
    struct b { int a : 2; int : 0; struct p p; union { short low; char half; }; } b = { .p = { 4 } };
    int main(void) { return b.a; }"""
    zero = "(ZeroInitialiser )"
    assert initialised(text)["b"] == f"(InitialiserList [{zero} (InitialiserList [4] - -) {zero}] - -)"


def test_enumerations() -> None:
    text = """
    enum few { A, B = 5, C }; enum neg { N = -2, O }; enum wide { W = 5000000000 };
    enum __attribute__((packed)) tiny { T = 200 };
    enum few f = C; enum neg n = O; enum wide w; enum tiny t;
    int main(void) { return f + n + w + t + B; }"""
    unit = read(text)
    types = {variable.name: variable.type for variable in unit.variables}
    shapes = {
        name: (t.width, t.signed, t.enumeration) for name, t in types.items() if isinstance(t, IntegerType)
    }
    assert shapes == {
        "f": (32, False, "few"),
        "n": (32, True, "neg"),
        "w": (64, False, "wide"),
        "t": (8, False, "tiny"),
    }
    assert initialised(text) == {"f": "(integer 6)", "n": "(integer -1)"}


def test_unnamed_records_and_their_typedefs() -> None:
    text = """
    typedef struct { int a; } t; typedef struct { char b; } *p; t x; p y; struct { t in; } z;
    struct t2; struct t2 *fwd; struct t2 { long q; };
    int main(void) { return x.a + y->b + z.in.a + fwd->q; }"""
    unit = read(text)
    x = unit.variables[0].type
    assert isinstance(x, RecordType)
    assert [field.name for field in unit.types.records[x.identity].fields] == ["a"]
    assert "unsupported" not in show(unit.functions["main"].body)


def test_typeof_in_a_declarator() -> None:
    text = """
    struct list { struct list *next; }; struct item { int n; struct list l; };
    int main(void) { struct item i; struct list *p = &i.l;
      const typeof(((struct item *)0)->l) *m = p; __typeof__(*p) copy; __auto_type k = i.n;
      return ((struct item *)((char *)m - __builtin_offsetof(struct item, l)))->n + k + (copy.next != 0); }"""
    assert "unsupported" not in show(read(text).functions["main"].body)


def test_a_tag_and_a_typedef_of_one_name_are_told_apart_or_refused() -> None:
    text = """
    struct s { char c; }; typedef struct { long l; } s;
    int main(void) { struct s a; s b; a.c = 1; b.l = 2; return sizeof(b); }"""
    shown = show(read(text).functions["main"].body)
    assert "(integer 8)" in shown or "<unsupported" in shown


@pytest.mark.parametrize(
    "text",
    [
        "void c(int *p); int main(void) { int x __attribute__((cleanup(c))); return 0; }",
        'int f(void) { return 1; } int g(void) __attribute__((alias("f"))); int main(void) { return g(); }',
        "#define N 101\n__attribute__((constructor(N))) void c(void) {} int main(void) { return 0; }",
    ],
)
def test_attributes_that_change_the_meaning_are_marked(text: str) -> None:
    unit = read(text)
    shown = " ".join(show(function.body) for function in unit.functions.values())
    assert "<unsupported-attribute>" in shown


def test_assembly_at_file_scope_is_marked() -> None:
    assert show(read('asm("nop"); int main(void) { return 0; }').functions["main"].body).startswith(
        "(Block [<unsupported-asm>"
    )


def test_errors_have_clangs_words_and_places(tmp_path: Path) -> None:
    path = tmp_path / "wrong.c"
    path.write_text("int main(void) {\n  return x;\n}\n#include <no/such.h>\n")
    with pytest.raises(InputError) as raised:
        read_unit(path, model=LP64)
    messages = {(d.span.line, d.message) for d in raised.value.diagnostics if d.span is not None}
    assert (4, "'no/such.h' file not found") in messages
    assert all(d.code == "clang-error" for d in raised.value.diagnostics)


@pytest.mark.parametrize("text", ["int main(void) { return 1", "int main(void) { \x01 }", "/* open"])
def test_broken_files_are_input_errors(text: str) -> None:
    with pytest.raises(InputError):
        read(text)


def test_main_with_an_implicit_return_type() -> None:
    unit = read("main() { return 0; }")
    body = unit.functions["main"].body
    assert isinstance(body, ast.Block)


def test_the_reading_is_deterministic() -> None:
    text = "struct s { int a; }; int x; int main(void) { struct s l; int x; l.a = x; { int x; x = 1; } }"
    first, second = read(text), read(text)
    assert show(first.functions["main"].body) == show(second.functions["main"].body)
    assert list(first.types.records) == list(second.types.records)

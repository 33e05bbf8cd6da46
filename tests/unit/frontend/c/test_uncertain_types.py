"""Types whose names are ambiguous, layouts that attributes and pragmas change, values that only the compiler
knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontend.c.lowering import loaded

from certus.core.accounting import Budget
from certus.core.errors import Unsupported
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import NoInputs
from certus.interpreter.interpreter import Ending, run

# what `main` returns, by the C standard where it says so, and by Clang
RETURNED = {
    "a shadowed typedef": (
        0,
        "typedef long T; T g[2]; int main(void) { T *p = g; { typedef char T; T c = *(p + 1); return c; } }",
    ),
    "a shadowed tag": (
        8,
        "struct s { long a; }; struct s g[2];"
        "int main(void) { struct s *p = g; { struct s { char c; }; return sizeof *(p + 1); } }",
    ),
    "a shadowed enumeration": (
        1,
        "enum e { A = -1 }; enum e g = A;int main(void) { enum e *p = &g; { enum e { B }; return *p < 0; } }",
    ),
    "the name of an unnamed record as a tag": (
        1,
        "typedef struct { int a[4]; } T; struct T { char c; }; T x;"
        "int main(void) { return sizeof(struct T); }",
    ),
    "unnamed records of one macro": (
        16,
        "#define PACKET struct p { struct { char a; } h; struct { long b; } t; }\n"
        "PACKET; int main(void) { return sizeof(struct p); }",
    ),
    "the length of a row of such a record": (
        12,
        "#define RECORD struct r { struct { union { int x; } s; }; }\n"
        "RECORD; typedef struct r T; int taking(int n, T a[][n]) { return sizeof(a[0]); }\n"
        "int main(void) { return taking(3, 0); }",
    ),
    "a parameter with such a record": (
        2,
        "#define R(name) typedef struct { struct { long w; } z[1]; struct { char c; } y; } name\n"
        "R(S); R(T); struct P { S half; long i; }; int f(struct P p) { return p.i; }\n"
        "int main(void) { return f((struct P){.half = {{{1}}}, .i = 2}); }",
    ),
    "an unnamed union and the record in it": (
        1,
        "#define REGISTER(name) union { int raw; struct { int low : 3; } bits; } name\n"
        "REGISTER(r); int main(void) { r.raw = 1; return r.bits.low; }",
    ),
    "unnamed records on one line of another file": (
        4,
        '\n#line 5 "x.h"\nstruct { int a; } x;\n#line 5 "x.h"\nstruct { char c[9]; } y;\n'
        "int main(void) { return sizeof x; }",
    ),
    "unnamed enumerations of one macro": (
        0,
        "#define BOTH enum { A = -1 } a; enum { B } b;\nBOTH int main(void) { return a < 0; }",
    ),
    "`bool` as a typedef and as a macro": (
        7,
        "typedef int bool; bool g = 7; bool *p = &g;\n#define bool _Bool\n"
        "bool one = 1; int main(void) { return *p; }",
    ),
    "a type that an expression defines": (
        1,
        "struct s { long a; } g; int main(void) { g.a = 1; return sizeof(struct s { char c; }); }",
    ),
    "an enumeration that a cast defines": (
        8,
        "enum e { A }; int main(void) { return sizeof((enum e { B = 1L << 40 })3); }",
    ),
    "a type that a parameter defines": (
        1,
        "struct s { long a; } g; int f(struct s { char c; } *p) { return sizeof *p; }"
        "int main(void) { g.a = 1; return f(0); }",
    ),
    "a type that a macro defines inside an expression": (
        1,
        "struct s { long a; } g;\n#define OTHER struct s { char c; }\n"
        "int main(void) { g.a = 1; return sizeof(OTHER); }",
    ),
    "a case label that defines a type": (
        0,
        "int main(void) { switch (3) { case sizeof(struct s { char c; }): return 1; default: return 0; } }",
    ),
    "a member aligned as a type": (
        8,
        "struct s { char c; _Alignas(int) char d; }; int main(void) { return sizeof(struct s); }",
    ),
    "the alignment of a variable aligned as a type": (
        8,
        "_Alignas(long) char c; int main(void) { return _Alignof(c); }",
    ),
    "an enumeration with a mode": (
        1,
        "enum __attribute__((mode(byte))) e { A }; int main(void) { return sizeof(enum e); }",
    ),
    "compatible arrays": (
        1,
        "int main(void) { return __builtin_types_compatible_p(const int[3], int[3]); }",
    ),
    "compatible enumerations": (
        1,
        "enum e { A }; int main(void) { return __builtin_types_compatible_p(enum e, unsigned); }",
    ),
    "an array parameter whose length calls a function": (
        1,
        "int n; int h(void) { n++; return 3; } int f(int a[h()]) { return n; }"
        "int main(void) { int a[3]; return f(a); }",
    ),
    "an array parameter whose length changes a variable": (
        3,
        "int f(int n, int a[n++]) { return n; } int main(void) { int a[3]; return f(2, a); }",
    ),
    "a length with a bit-field": (
        4,
        "struct { unsigned b : 3; } s; int main(void) { int a[s.b - 4 < 0 ? 1 : 2]; return sizeof a; }",
    ),
    "a length with a name of a type and a variable": (
        72,
        "typedef int T; int main(void) { int n = 2; char T[9]; int a[n * sizeof(T)]; return sizeof a; }",
    ),
    "another name for an object of the file": (
        5,
        'int x; int main(void) { extern int y __asm__("x"); y = 5; return x; }',
    ),
    "the order of constructors": (
        1,
        "int x; __attribute__((constructor(0200))) void f(void) { x = 1; } int main(void) { return x; }",
    ),
    "instructions": (0, 'int main(void) { __asm__("# here\\n nop"); return 0; }'),
}


@pytest.mark.parametrize("name", RETURNED)
def test_types_are_those_of_the_compiler(tmp_path: Path, name: str) -> None:
    value, text = RETURNED[name]
    tested = text.replace("int main(void)", "int tested(void)")
    called = f"\nint main(void) {{ if (tested() != {value}) reach_error(); return 0; }}\n"
    program = loaded(tmp_path, tested + called).program
    assert run(compile_program(program), NoInputs(), budget=Budget()).ending is Ending.EXIT


def test_a_builtin_function_of_another_compiler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, "int main(void) { return __builtin_add_overflow_p(127, 1, (signed char)0); }")
    assert caught.value.diagnostic.code == "unsupported-builtin"
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.hint is not None


HOLDING = {
    "variables with names of types, in typeof": (
        "int bool[7]; long half;",
        "typeof(half) x = 300; struct s { long a[4]; } bool;",
        "sizeof(typeof(bool)) == 4 * sizeof(long) && sizeof(typeof((half))) == sizeof(long) && x == 300",
    ),
    "elements of such variables": ("int bool[7];", "", "sizeof(typeof(bool[2])) == 4"),
    "`bool` as a name of another type": (
        "typedef int bool; bool a[2]; bool two(void) { return 2; }",
        "a[1] = 7;",
        "two() == 2 && sizeof a == 8 && *(a + 1) == 7 && (bool)9 == 9",
    ),
    "`bool` from the header": ("#include <stdbool.h>\nbool a[3];", "a[1] = 7;", "a[1] == 1 && sizeof a == 3"),
    "`half` as a name of a type": ("typedef int half; half a[2];", "", "sizeof a == 8"),
    "packing by an operator": (
        '_Pragma("pack(1)") struct p { char c; int i; }; _Pragma("pack()") struct q { char c; int i; };',
        "",
        "sizeof(struct p) == 5 && sizeof(struct q) == 8",
    ),
    "packing by a macro": (
        "#define N 2\n#pragma pack(N)\nstruct p { char c; long i; };",
        "",
        "sizeof(struct p) == 10",
    ),
    "packing in a comment": (
        "/*\n#pragma pack(1)\n*/\nstruct p { char c; int i; };",
        "",
        "sizeof(struct p) == 8",
    ),
    "packed bit-fields": (
        "#pragma pack(1)\nstruct p { char c; int i : 20; int j : 20; short s; };",
        "struct p p; p.i = -5; p.j = 77; p.s = 3;",
        "sizeof p == 8 && p.i == -5 && p.j == 77 && p.s == 3",
    ),
    "packed records with the name of a typedef": (
        "#pragma pack(push, 4)\ntypedef struct { char c; long l; } T;\n#pragma pack(pop)\n",
        "T t; t.l = 3;",
        "sizeof(T) == 12 && t.l == 3",
    ),
    "an aligned typedef": (
        "typedef int T __attribute__((aligned(16))); typedef T U; struct s { char c; U u; char d; };",
        "",
        "sizeof(struct s) == 32 && _Alignof(T) == 16 && _Alignof(U) == 16",
    ),
    "a typedef that asks for less": (
        "typedef int T __attribute__((aligned(1))); struct s { char c; T t; };",
        "",
        "sizeof(struct s) == 5 && _Alignof(T) == 1",
    ),
    "a tag with the name of an aligned typedef": (
        "typedef char T __attribute__((aligned(16))); struct T { int a; }; struct s { char c; struct T t; };",
        "",
        "sizeof(struct s) == 8",
    ),
    "records of the same name in two functions": (
        "int f(void) { struct s { int a, b; }; struct s x, *p = &x; return (char *)(p + 1) - (char *)p; }"
        "int g(void) { struct s { long a[3]; }; struct s x, *p = &x; return (char *)(p + 1) - (char *)p; }",
        "",
        "f() == 8 && g() == 24",
    ),
    "the type of a name that is shadowed later": (
        "",
        "long x = 5; int r; { typeof(x) y = 1L << 40; char x = 3; typeof(x) z = 300; y = y + x;"
        " r = y == (1L << 40) + 3 && z == 44; }",
        "r",
    ),
    "an automatic type": (
        "",
        "long x = 5; typeof(x) *p = &x; int r; { char x = 3; __auto_type q = *p; r = sizeof q + x; }",
        "r == 11",
    ),
    "macros that name a type": (
        "struct s { int a[10]; };\n#define NODE struct s\n#define SIZE(T) sizeof(T)\n",
        "",
        "sizeof(NODE) == 40 && SIZE(struct s) == 40 && SIZE(NODE) == 40",
    ),
    "array parameters": (
        "#define N 10\nenum { K = 3 }; int f(int n, int a[n], int b[N], int c[static K + 1], int d[2 * N])"
        "{ return n + a[0] + b[1] + c[2] + d[3]; }",
        "int a[20] = {1, 2, 3, 4};",
        "f(5, a, a, a, a) == 15",
    ),
    "types that are obviously compatible or not": (
        "typedef int T;",
        "",
        "__builtin_types_compatible_p(int, T) && !__builtin_types_compatible_p(int, long)"
        " && !__builtin_types_compatible_p(char *, const char *)"
        " && __builtin_types_compatible_p(const int, int)",
    ),
    "assembly without instructions": (
        "",
        'int x = 1, i = 0; __asm__ volatile("" : "+r"(x)); __asm__("# %0" : : "r"(i++) : "memory");'
        ' __asm__ volatile("" ::: "memory"); __asm__(/* none */ " " "");',
        "x == 1 && i == 1",
    ),
    "a parameter whose type has `noreturn` in its name": (
        "struct noreturn_s { int a; }; int f(struct noreturn_s *p) { return 4; }"
        "int (*g)(struct noreturn_s *) = f;",
        "",
        "g(0) == 4",
    ),
}


@pytest.mark.parametrize("name", HOLDING)
def test_what_is_certain_is_right(tmp_path: Path, name: str) -> None:
    declared, before, claim = HOLDING[name]
    text = f"{declared}\nint main(void) {{ {before}\nif (!({claim})) reach_error(); return 0; }}"
    program = loaded(tmp_path, text).program
    assert run(compile_program(program), NoInputs(), budget=Budget()).ending is Ending.EXIT


def test_a_header_that_packs(tmp_path: Path) -> None:
    (tmp_path / "pack.h").write_text("#pragma pack(1)\n")
    text = '#include "pack.h"\nstruct p { char c; int i; };\n'
    program = loaded(
        tmp_path, text + "int main(void) { if (sizeof(struct p) == 5) reach_error(); return 0; }"
    )
    assert [site.function for site in program.program.errors] == ["reach_error"]


def test_a_function_that_may_return_does(tmp_path: Path) -> None:
    text = "struct noreturn_s; int f(struct noreturn_s *); int main(void) { f(0); reach_error(); return 0; }"
    assert [site.kind for site in loaded(tmp_path, text).program.errors] == ["reach-error"]

"""What Clang's tree does not tell of types is right, or refused at its line with a hint."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.frontend.c.lowering import loaded

from certus.core.budget import Budget
from certus.core.errors import Unsupported
from certus.validate.compile import compile_program
from certus.validate.inputs import NoInputs
from certus.validate.interpreter import Ending, run

AMBIGUOUS = "unsupported-ambiguous-type"
REFUSED = {
    "a shadowed typedef": (
        AMBIGUOUS,
        "typedef long T; T g[2]; int main(void) { T *p = g; { typedef char T; T c = *(p + 1); return c; } }",
    ),
    "a shadowed tag": (
        AMBIGUOUS,
        "struct s { long a; }; struct s g[2];"
        "int main(void) { struct s *p = g; { struct s { char c; }; return sizeof *(p + 1); } }",
    ),
    "a shadowed enumeration": (
        AMBIGUOUS,
        "enum e { A = -1 }; enum e g = A;int main(void) { enum e *p = &g; { enum e { B }; return *p < 0; } }",
    ),
    "an enumeration that is declared before its values are known": (
        AMBIGUOUS,
        "enum e; enum e *p; enum e { A = -1 }; int main(void) { return *p < 0; }",
    ),
    "the name of an unnamed record as a tag": (
        AMBIGUOUS,
        "typedef struct { int a[4]; } T; struct T { char c; }; T x;"
        "int main(void) { return sizeof(struct T); }",
    ),
    "unnamed records of one macro": (
        AMBIGUOUS,
        "#define PACKET struct p { struct { char a; } h; struct { long b; } t; }\n"
        "PACKET; int main(void) { return sizeof(struct p); }",
    ),
    "an unnamed union and the record in it": (
        AMBIGUOUS,
        "#define REGISTER(name) union { int raw; struct { int low : 3; } bits; } name\n"
        "REGISTER(r); int main(void) { r.raw = 1; return r.bits.low; }",
    ),
    "unnamed records on one line of another file": (
        AMBIGUOUS,
        '\n#line 5 "x.h"\nstruct { int a; } x;\n#line 5 "x.h"\nstruct { char c[9]; } y;\n'
        "int main(void) { return sizeof x; }",
    ),
    "unnamed enumerations of one macro": (
        AMBIGUOUS,
        "#define BOTH enum { A = -1 } a; enum { B } b;\nBOTH int main(void) { return a < 0; }",
    ),
    "`bool` as a typedef and as a macro": (
        AMBIGUOUS,
        "typedef int bool; bool g = 7; bool *p = &g;\n#define bool _Bool\n"
        "bool one = 1; int main(void) { return *p; }",
    ),
    "a type that an expression defines": (
        "unsupported-tag",
        "struct s { long a; } g; int main(void) { g.a = 1; return sizeof(struct s { char c; }); }",
    ),
    "an enumeration that a cast defines": (
        AMBIGUOUS,
        "enum e { A }; int main(void) { return sizeof((enum e { B = 1L << 40 })3); }",
    ),
    "a type that a parameter defines": (
        "unsupported-tag",
        "struct s { long a; } g; int f(struct s { char c; } *p) { return sizeof *p; }"
        "int main(void) { g.a = 1; return f(0); }",
    ),
    "a type that a macro defines inside an expression": (
        "unsupported-tag",
        "struct s { long a; } g;\n#define OTHER struct s { char c; }\n"
        "int main(void) { g.a = 1; return sizeof(OTHER); }",
    ),
    "a case label that defines a type": (
        "unsupported-case-label",
        "int main(void) { switch (3) { case sizeof(struct s { char c; }): return 1; default: return 0; } }",
    ),
    "a member aligned as a type": (
        "unsupported-attribute",
        "struct s { char c; _Alignas(int) char d; }; int main(void) { return sizeof(struct s); }",
    ),
    "a variable aligned as a type": (
        "unsupported-attribute",
        "int main(void) { _Alignas(long) char c; return (unsigned long)&c % 8; }",
    ),
    "the alignment of a variable aligned as a type": (
        "unsupported-alignment",
        "_Alignas(long) char c; int main(void) { return _Alignof(c); }",
    ),
    "an enumeration with a mode": (
        "unsupported-attribute",
        "enum __attribute__((mode(byte))) e { A }; int main(void) { return sizeof(enum e); }",
    ),
    "compatible arrays": (
        "unsupported-type-trait",
        "int main(void) { return __builtin_types_compatible_p(const int[3], int[3]); }",
    ),
    "compatible enumerations": (
        "unsupported-type-trait",
        "enum e { A }; int main(void) { return __builtin_types_compatible_p(enum e, unsigned); }",
    ),
    "an array parameter whose length calls a function": (
        "unsupported-vla",
        "int n; int h(void) { n++; return 3; } int f(int a[h()]) { return n; }"
        "int main(void) { int a[3]; return f(a); }",
    ),
    "an array parameter whose length changes a variable": (
        "unsupported-vla",
        "int f(int n, int a[n++]) { return n; } int main(void) { int a[3]; return f(2, a); }",
    ),
    "a length with a bit-field": (
        "unsupported-vla",
        "struct { unsigned b : 3; } s; int main(void) { int a[s.b - 4 < 0 ? 1 : 2]; return sizeof a; }",
    ),
    "a length with a name of a type and a variable": (
        "unsupported-vla",
        "typedef int T; int main(void) { int n = 2; char T[9]; int a[n * sizeof(T)]; return sizeof a; }",
    ),
    "a builtin function of another compiler": (
        "unsupported-builtin",
        "int main(void) { return __builtin_add_overflow_p(127, 1, (signed char)0); }",
    ),
    "another name for an object of the file": (
        "unsupported-attribute",
        'int x; int main(void) { extern int y __asm__("x"); y = 5; return x; }',
    ),
    "the order of constructors": (
        "unsupported-attribute",
        "int x; __attribute__((constructor(0200))) void f(void) { x = 1; } int main(void) { return x; }",
    ),
    "assembly that sets a variable": (
        "unsupported-asm",
        'int main(void) { int x = 1; __asm__("" : "=r"(x)); return x; }',
    ),
    "instructions": ("unsupported-asm", 'int main(void) { __asm__("# here\\n nop"); return 0; }'),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_certain_is_refused(tmp_path: Path, name: str) -> None:
    code, text = REFUSED[name]
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, text)
    found = caught.value.diagnostic
    assert found.code == code
    assert found.span is not None
    assert found.hint is not None


HOLDING = {
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

"""The lowering of LLVM IR: each program checks itself, on both data models, by a run of the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from certus import Settings, verify
from certus.core.accounting import Budget
from certus.core.errors import Unsupported
from certus.core.program import Alloc, Assign, Assume, Call, Havoc, Load, Program, Store
from certus.core.terms import Expr, MachineSort
from certus.core.values import Datum, default_value
from certus.frontend.c.load import load_c
from certus.frontend.graph import LoadedProgram
from certus.interpreter.compile import compile_program
from certus.interpreter.interpreter import Ending, run

DECLARATIONS = """
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
extern void abort(void);
#define CHECK(c) if (!(c)) reach_error()
"""


class Given:
    """Inputs in order, then zeros."""

    def __init__(self, values: Sequence[int] = ()) -> None:
        self.values = list(values)

    def initial(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        found = []
        for target in targets:
            value = self.values.pop(0) if self.values else 0
            found.append(target.sort.wrap(value) if isinstance(target.sort, MachineSort) else value)
        return tuple(found)


def loaded(
    directory: Path, text: str, *, property: str = "unreach-call", model: str = "LP64"
) -> LoadedProgram:
    path = directory / "program.c"
    path.write_text(DECLARATIONS + text, encoding="utf-8")
    return load_c(path, property=property, model=model)


def ending(program: Program, values: Sequence[int] = ()) -> Ending:
    done = run(compile_program(program), Given(values), step_limit=100_000, budget=Budget())
    return done.ending


def ops(program: Program, kind: type, procedure: str = "main") -> list[object]:
    return [e.op for e in program.procedures[procedure].edges if isinstance(e.op, kind)]


PROGRAMS = {
    "functions that are not declared": 'int main(void) { char *p = malloc(5), b[9], *q = strcpy(b, "abc");'
    'p[2] = 7; CHECK(p[2] == 7 && q == b && strlen(b) == 3 && strncmp(b, "abd", 2) == 0);'
    "int n = -3, *z = calloc(2, sizeof(int)); CHECK(z[1] == 0); free(p); memset(b, 1, 4); CHECK(b[3] == 1);"
    "CHECK(abs(n) == 3 && labs(n) == 3L && toupper(97) == 65 && isdigit(48));"
    'CHECK(atoi("12") == 12 && atol("-5") == -5); }',
    "functions without prototypes": "char *strcpy(); unsigned long strlen(); int abs(); void *malloc();"
    "long labs(); int main(void) { char *b = malloc(9); int n = -4;"
    'CHECK(strcpy(b, "xy") == b && abs(n) == 4 && labs(n) == 4 && strlen(b) == 2); }',
    "functions that return an int without prototypes": "int strlen(); int strcpy(); int malloc();"
    'int main(void) { char b[9]; strcpy(b, "abcd"); CHECK(strlen(b) == 4);'
    "if (sizeof(int) == sizeof(char *)) { char *p = malloc(4); p[1] = 5; CHECK(p[1] == 5); } }",
    "the program's own function besides those that are not declared": "int abs(int x) { return 77; }"
    "int main(void) { char *p = malloc(3); p[0] = 1; CHECK(abs(1) == 77 && p[0] == 1); }",
    "checked variants": "typedef __SIZE_TYPE__ size; void *__memcpy_chk(void *, const void *, size, size);"
    'char *__strcpy_chk(char *, const char *, size); int main(void) { char b[9], c[9] = "abc", *p = b;'
    "char *q = c; int n = 4; char *r = __memcpy_chk(p, q, n, 9); p = c; CHECK(r == b && b[2] == 99); if (n) {"
    'r = __strcpy_chk(p, "z", 9); p = b; CHECK(r == c && c[0] == 122 && c[1] == 0); } }',
    "memcpy by a pointer": "typedef __SIZE_TYPE__ size; void *memcpy(void *, const void *, size);"
    'int main(void) { void *(*f)(void *, const void *, size) = memcpy; char b[4], c[4] = "abc", *p = b;'
    "char *q = c; int n = 3; char *r = f(p, q, n); p = c; CHECK(r == b && b[1] == 98); }",
    "operands are evaluated before they change": "int g = 1; int f(void) { g = 5; return 1; }"
    "int main(void) { int x = 3; int y = x++ + x * 10; CHECK(y == 43); int z = g + f(); "
    "CHECK(z == 2 && g == 5); }",
    "records are passed and returned": "struct S { int a; char b; long c; }; struct T { short x, y, z; };"
    "struct S up(struct S s) { s.a++; s.c += s.b; return s; } struct T turn(struct T t) "
    "{ struct T r = {t.z, t.y, t.x};"
    "return r; } int main(void) { struct S s = {1, 'a', 3}; s = up(s); "
    "CHECK(s.a == 2 && s.b == 'a' && s.c == 100);"
    "struct T t = {1, 2, 3}; t = turn(turn(turn(t))); CHECK(t.x == 3 && t.y == 2 && t.z == 1); }",
    "records by pointers to functions": "struct T { short x, y, z; }; struct L { long a[5]; };"
    "struct T one(struct T t) { t.x++; return t; } struct L two(struct L l) { l.a[4] = 7; return l; }"
    "struct T (*f[])(struct T) = {one}; struct L (*g)(struct L) = two;"
    "int main(void) { struct T t = {1, 2, 3}; t = f[0](t); CHECK(t.x == 2 && t.z == 3);"
    "struct L l = {{1}}; CHECK(g(l).a[4] == 7 && l.a[4] == 0); }",
    "variadic functions": "#include <stdarg.h>\nstruct P { int x, y; }; struct L { long a[3]; };"
    "long sum(int n, ...) { va_list a, b; va_start(a, n); va_copy(b, a); long s = 0;"
    "for (int i = 0; i < n; i++) s += va_arg(a, int); s += va_arg(a, long long); "
    "struct P p = va_arg(a, struct P);"
    "struct L l = va_arg(a, struct L); s += p.x + p.y + l.a[2] + va_arg(b, int); va_end(a); return s; }"
    "int main(void) { struct P p = {100, 200}; struct L l = {{0, 0, 5000}};"
    "CHECK(sum(2, 1, 2, 30ll, p, l) == 5334); }",
    "functions named only in initialisers": "static int a(int x) { return x + 1; } static int b(int x) "
    "{ return x * 2; }"
    "struct { int (*f)(int); } table[2] = {{a}, {b}};"
    "int main(void) { CHECK(table[0].f(5) == 6); CHECK(table[1].f(5) == 10); }",
    "computed goto": "int main(void) { void *to[] = {&&one, &&two}; int n = 1; goto *to[n];"
    "one: reach_error(); two: CHECK(n == 1); return 0; }",
    "constructors, aliases and weak symbols": "int order; __attribute__((constructor(201))) void b(void) "
    "{ order = order * 10 + 2; }"
    "__attribute__((constructor(200))) void a(void) { order = 1; } int value = 4;"
    'extern int other __attribute__((alias("value")));'
    "extern int nowhere(void) __attribute__((weak)); __attribute__((weak)) int mine(void) { return 3; }"
    "int main(void) { CHECK(order == 12); other = 9; CHECK(value == 9); CHECK(!nowhere && mine() == 3); }",
    "threads and atomics": "_Thread_local int t = 3; _Atomic int a = 4; int n = 1;"
    "int main(void) { t++; a += 5; CHECK(a == 9 && t == 4); int e = 1;"
    "CHECK(__atomic_compare_exchange_n(&n, &e, 7, 0, 5, 5) && n == 7);"
    "CHECK(__atomic_fetch_nand(&n, 3, 5) == 7 && n == -4); }",
    "bit-fields and packed records": "struct __attribute__((packed)) P { char c; int i; unsigned b : 5; "
    "signed d : 11; };"
    "int main(void) { struct P p = {1, 2, 40, -5}; p.i = -7; p.d--;"
    "CHECK(p.b == 8 && p.d == -6 && p.i == -7 && sizeof p == 7); }",
    "vectors": "typedef int V __attribute__((vector_size(16)));"
    "int main(void) { V a = {1, 2, 3, 4}, b = a * 2 + (V){1, 1, 1, 1}; V c = b > 5; "
    "CHECK(b[3] == 9 && c[0] == 0 && c[3] == -1); }",
    "wide integers": "int main(void) { long long x = 1ll << 60; CHECK((x >> 58) == 4);"
    "_BitInt(37) y = 1; y <<= 36; CHECK(y < 0); unsigned _BitInt(5) z = 31; z++; CHECK(z == 0); }"
    "".replace("__int128", "long long")
    .replace("<< 100", "<< 60")
    .replace(">> 98", ">> 58"),
    "variable-length arrays": "int main(void) { for (int n = 1; n < 4; n++) { int a[n], s = 0; "
    "for (int i = 0; i < n; i++) a[i] = i;"
    "for (int i = 0; i < n; i++) s += a[i]; CHECK(s == n * (n - 1) / 2 && sizeof a == 4 * n); } }",
    "copies that overlap": "#include <string.h>\nint main(void) { int a[5] = {1, 2, 3, 4, 5}; "
    "memmove(a + 1, a, 16);"
    "CHECK(a[0] == 1 && a[1] == 1 && a[4] == 4); char b[300], c[300]; memset(b, 7, 300); "
    "memcpy(c, b, 299); CHECK(c[298] == 7); }",
    "the library": "#include <string.h>\n#include <stdlib.h>\n#include <ctype.h>\n"
    'int main(void) { char s[20] = "12ab";'
    "CHECK(atoi(s) == 12 && strlen(s) == 4 && isdigit(s[0]) && !isdigit(s[2]) && toupper('x') == 'X');"
    "int *p = malloc(8); p[1] = 3; p = realloc(p, 80); CHECK(p[1] == 3); free(p);"
    'CHECK(abs(-4) == 4 && strcmp(s, "13") < 0); }',
    "pointers as integers": "#include <stdint.h>\nint main(void) { int a[3] = {1, 2, 3}; "
    "uintptr_t n = (uintptr_t)a; int *p = (int *)(n + 8);"
    "CHECK(*p == 3 && p - a == 2 && (char *)p - (char *)a == 8 && p > a); }",
    "decisions": "int main(void) { int a = __VERIFIER_nondet_int(), b = 2; "
    "int x = a ? b ? 1 : 2 : b > 1 && a == 0 || b == 7;"
    "CHECK(x == 1); CHECK((a == 0 && b == 2) ? !a : a); }",
    "empty assembly changes nothing": "int main(void) { int x = 4;"
    '__asm__ volatile("" : "+r"(x) : : "memory"); CHECK(x == 4); }',
    "functions that call back": "#include <stdlib.h>\nstatic int calls;"
    "static int less(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }"
    "static int loud(const void *a, const void *b) { calls++; return less(a, b); }"
    "int main(void) { int a[4] = {4, 1, 3, 2}, k = 3; qsort(a, 4, sizeof *a, less);"
    "CHECK(a[0] == 1 && a[1] == 2 && a[3] == 4); CHECK(bsearch(&k, a, 4, sizeof k, less) == a + 2);"
    "int *p = bsearch(&k, a, 0, sizeof k, loud); CHECK(!p); }",
    "switch": "int f(int x) { switch (x) { case 1: return 10; case 3 ... 5: x++; default: return x; "
    "case -1: break; } return 0; }"
    "int main(void) { CHECK(f(1) == 10 && f(4) == 5 && f(9) == 9 && f(-1) == 0); }",
    "an object lives on when a jump leads back over its declaration": "int main(void) { int *p = 0, k = 0;"
    "back:; int y[2] = {k, 7}; if (k) CHECK(p == y && *p == k); p = y; if (++k < 3) goto back;"
    "CHECK(p[1] == 7); }",
    "an integer made of a pointer wraps before it is a pointer again": "int main(void) { char c;"
    "volatile unsigned long k = (unsigned long)&c + 1; char *p = (char *)((unsigned long)&c - k);"
    "CHECK(p == (char *)-1L && p > (char *)16 && (unsigned long)p == -1UL);"
    "p = (char *)(&c - (&c + 1)); CHECK(p == (char *)-1L && p > (char *)16); }",
}


@pytest.mark.parametrize("model", ["LP64", "ILP32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_check_themselves(name: str, model: str, tmp_path: Path) -> None:
    assert ending(loaded(tmp_path, PROGRAMS[name], model=model).program) is Ending.EXIT


def test_wide_integers_of_64_bit_machines(tmp_path: Path) -> None:
    text = "int main(void) { __int128 x = (__int128)1 << 100; CHECK((long)(x >> 98) == 4); }"
    assert ending(loaded(tmp_path, text).program) is Ending.EXIT


def test_a_condition_is_one_step(tmp_path: Path) -> None:
    text = (
        "int main(void) { int x = __VERIFIER_nondet_int(); if ((x > 3 && x < 9) || x == 20) reach_error(); }"
    )
    program = loaded(tmp_path, text).program
    conditions = [op for op in ops(program, Assume) if isinstance(op, Assume) and op.condition.args]
    assert len(conditions) == 2
    assert ending(program, [20]) is Ending.ERROR
    assert ending(program, [9]) is Ending.EXIT


def test_a_check_in_a_condition_is_two_steps_and_holds_no_value(tmp_path: Path) -> None:
    text = """
    int main(void) {
        int x = __VERIFIER_nondet_int(), y = 1;
        if (x + 1 > 0 && (x << y) + 1 > x)
            y = 2;
        return y;
    }"""
    program = loaded(tmp_path, text, property="no-overflow").program
    assert len(ops(program, Assume)) == 2 * (2 + 3)
    assert len(ops(program, Assign)) == 2
    assert [site.text for site in program.errors] == [
        "x + 1 does not overflow",
        "x << y does not overflow",
        "(x << y) + 1 does not overflow",
    ]
    values = [(7,), (2147483647,), (1 << 30,), ((1 << 30) - 1,)]
    expected = [Ending.EXIT, Ending.ERROR, Ending.ERROR, Ending.EXIT]
    assert [ending(program, given) for given in values] == expected


def test_a_condition_as_a_value_takes_no_step_of_its_own(tmp_path: Path) -> None:
    text = (
        "int f(int x) { return x; } int main(void) { int x = __VERIFIER_nondet_int(), y = 2; f(x && y > x); }"
    )
    main = loaded(tmp_path, text).program.procedures["main"].edges
    assert [edge.text for edge in main] == [
        "int x = __VERIFIER_nondet_int()",
        "int y = 2",
        "f(x && y > x)",
        "}",
    ]


def test_scalars_are_variables_with_the_sign_of_their_type(tmp_path: Path) -> None:
    program = loaded(tmp_path, "unsigned char u; int main(void) { short s = 1; u = s; return u; }").program
    assert not ops(program, Alloc)
    sorts = {name: variable.sort.name for variable, name in program.source_names.items()}
    assert sorts == {"s": "i16", "u": "u8"}


def test_records_keep_their_cells(tmp_path: Path) -> None:
    text = (
        "struct S { int a; char b; int c; }; struct S f(struct S s) { s.a++; return s; }"
        "int main(void) { struct S s = {1, 2, 3}; s = f(s); return s.a; }"
    )
    program = loaded(tmp_path, text).program
    widths = {
        op.value.sort.width
        for name in ("main", "f")
        for op in ops(program, Store, name)
        if isinstance(op, Store) and isinstance(op.value.sort, MachineSort)
    }
    assert widths <= {8, 16, 32}
    assert len(program.procedures["f"].parameters) > 2


def test_large_arrays_are_zero_without_a_loop(tmp_path: Path) -> None:
    program = loaded(tmp_path, "int main(void) { int a[1000] = {0}; return a[999]; }").program
    (alloc,) = ops(program, Alloc)
    assert isinstance(alloc, Alloc)
    assert alloc.zero
    assert not ops(program, Call)


def test_padding_has_no_value_that_a_counterexample_may_use(tmp_path: Path) -> None:
    program = loaded(
        tmp_path, "struct P { char c; int i; }; int main(void) { struct P p = {1, 2}; return p.i; }"
    ).program
    unknown = [op for op in ops(program, Havoc) if isinstance(op, Havoc) and op.approximates]
    assert {op.approximates for op in unknown} == {"the padding of `p`"}
    assert sum(target.sort.width for op in unknown for target in op.targets) == 24


def test_a_variable_without_a_value_is_an_input_where_it_is_declared(tmp_path: Path) -> None:
    text = "int main(void) { for (int i = 0; i < 2; i++) { int x; if (x == 7) reach_error(); x = 7; } }"
    program = loaded(tmp_path, text).program
    assert ending(program, [0, 0]) is Ending.EXIT
    assert ending(program, [0, 7]) is Ending.ERROR


def test_an_uninitialised_bool_is_zero_or_one(tmp_path: Path) -> None:
    program = loaded(tmp_path, "int main(void) { _Bool b; int x = b; CHECK(x <= 1); }").program
    assert ending(program, [1]) is Ending.EXIT
    assert ending(program, [2]) is Ending.BLOCKED


def test_a_pointer_that_is_no_function_is_undefined(tmp_path: Path) -> None:
    text = (
        "int f(int x) { return x; } int (*g)(int) = f; int main(void) { g = (int (*)(int))8; return g(1); }"
    )
    assert ending(loaded(tmp_path, text).program) is Ending.UNDEFINED


def test_unreachable_is_undefined(tmp_path: Path) -> None:
    text = "int main(void) { if (__VERIFIER_nondet_int()) __builtin_unreachable(); }"
    program = loaded(tmp_path, text).program
    assert ending(program, [1]) is Ending.UNDEFINED
    assert ending(program, [0]) is Ending.EXIT
    done = run(compile_program(program), Given([1]), step_limit=100, budget=Budget())
    assert done.cause == "code that must be unreachable"


def test_assembly_gives_values_that_no_counterexample_may_use(tmp_path: Path) -> None:
    text = 'int main(void) { int x = 4; __asm__("inc %0" : "+r"(x)); if (x == 5) reach_error(); }'
    found = [op for op in ops(loaded(tmp_path, text).program, Havoc) if isinstance(op, Havoc)]
    assert [op.approximates for op in found] == ["what assembly computes"]


def test_no_counterexample_goes_past_assembly_that_may_end_the_program(tmp_path: Path) -> None:
    text = 'int main(void) { __asm__("1: ud2"); reach_error(); }'
    found = [op for op in ops(loaded(tmp_path, text).program, Havoc) if isinstance(op, Havoc)]
    assert [op.approximates for op in found] == ["what happens after assembly that may end the program"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("int main(void) { __float128 d = __VERIFIER_nondet_int(); return d > 1; }", "unsupported-float"),
        (
            "#pragma clang fp reassociate(on)\nint main(void) { double d = 1; return d + d; }",
            "unsupported-float",
        ),
        (
            "int main(void) {\n#pragma STDC FENV_ROUND FE_UPWARD\n double d = 1; return d / 3; }",
            "unsupported-float",
        ),
        ('int main(void) { __asm__ goto("jmp %l0" : : : : l); l: return 0; }', "unsupported-asm"),
        ('int main(void) { __asm__("jmp reach_error"); return 0; }', "unsupported-asm"),
        ('int f(void); int main(void) { __asm__("call %P0" : : "i"(f)); } int f(void) {}', "unsupported-asm"),
        ('int main(void) { int (*p)(void) = main; __asm__("call *%0" : : "r"(p)); }', "unsupported-asm"),
        ('int main(void) { int m = 0x5f80; __asm__("ldmxcsr %0" : : "m"(m)); }', "unsupported-asm"),
        ('int main(void) { int m = 0x5f80; __asm__("LDMXCSR %0" : : "m"(m)); }', "unsupported-asm"),
        ('int main(void) { __asm__("fninit"); }', "unsupported-asm"),
        ("int __builtin_x(int);\nint main(void) { return __builtin_x(1); }", "unsupported-builtin"),
        (
            "typedef _Bool B __attribute__((ext_vector_type(8)));\nB b = {1, 0, 1};\n"
            "int main(void) { return *(char *)&b; }",
            "unsupported-type",
        ),
        ("typedef int J[64]; int setjmp(J); int main(void) { J j; return setjmp(j); }", "unsupported-setjmp"),
    ],
)
def test_what_is_not_modelled_is_refused_at_its_line(text: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, text)
    assert caught.value.diagnostic.code == code
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.line >= 6


def test_what_cannot_be_reached_is_not_refused(tmp_path: Path) -> None:
    text = "double f(double x) { return x * 2; } int main(void) { if (0) f(1); return 0; }"
    assert ending(loaded(tmp_path, text).program) is Ending.EXIT


@pytest.mark.parametrize(
    ("property", "text", "inputs", "wanted"),
    [
        (
            "no-overflow",
            "int main(void) { int x = __VERIFIER_nondet_int(); return x + 1; }",
            [2**31 - 1],
            Ending.ERROR,
        ),
        (
            "no-overflow",
            "int main(void) { int x = __VERIFIER_nondet_int(); return x + 1; }",
            [5],
            Ending.EXIT,
        ),
        (
            "no-overflow",
            "int main(void) { int x = __VERIFIER_nondet_int(); return -5 / x; }",
            [0],
            Ending.UNDEFINED,
        ),
        (
            "no-overflow",
            "int main(void) { int x = __VERIFIER_nondet_int(); return x << 3; }",
            [1 << 29],
            Ending.ERROR,
        ),
        ("no-overflow", "unsigned u; int main(void) { u = 0u - 1; return u; }", [], Ending.EXIT),
        (
            "no-div-zero",
            "int main(void) { int x = __VERIFIER_nondet_int(); return -5 / x; }",
            [0],
            Ending.ERROR,
        ),
        (
            "no-div-zero",
            "int main(void) { int x = __VERIFIER_nondet_int(); return -5 / x; }",
            [2],
            Ending.EXIT,
        ),
    ],
)
def test_checks_of_properties(
    property: str, text: str, inputs: list[int], wanted: Ending, tmp_path: Path
) -> None:
    assert ending(loaded(tmp_path, text, property=property).program, inputs) is wanted


@pytest.mark.parametrize("model", ["LP64", "ILP32"])
@pytest.mark.parametrize(
    ("property", "operation", "inputs", "wanted", "sites"),
    [
        ("no-overflow", "a / b", [-(2**31), -1], Ending.ERROR, 1),
        ("no-overflow", "a / b", [1, 0], Ending.UNDEFINED, 1),
        ("no-overflow", "a % b", [-(2**31), -1], Ending.ERROR, 1),
        ("no-overflow", "a % b", [1, 0], Ending.UNDEFINED, 1),
        ("no-overflow", "a << b", [1, 31], Ending.ERROR, 1),
        ("no-overflow", "a << b", [-1, 1], Ending.ERROR, 1),
        ("no-overflow", "a << b", [0, 32], Ending.ERROR, 1),
        ("no-overflow", "a << b", [1, -1], Ending.ERROR, 1),
        ("no-overflow", "a >> b", [1, 32], Ending.UNDEFINED, 0),
        ("no-div-zero", "a / b", [1, 0], Ending.ERROR, 1),
        ("no-div-zero", "a / b", [-(2**31), -1], Ending.EXIT, 1),
        ("no-div-zero", "a % b", [1, 0], Ending.ERROR, 1),
        ("no-div-zero", "a << b", [1, 32], Ending.UNDEFINED, 0),
        ("unreach-call", "a / b", [1, 0], Ending.UNDEFINED, 0),
    ],
)
def test_a_handler_of_two_kinds_checks_the_kind_of_the_property(
    property: str, operation: str, inputs: list[int], wanted: Ending, sites: int, model: str, tmp_path: Path
) -> None:
    """`divrem_overflow` is called for a division by zero and for the overflow of a quotient,
    `shift_out_of_bounds` for the base and for the exponent of a shift: one of them is an error."""
    text = "int main(void) { int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();"
    program = loaded(
        tmp_path, f"{text} int c = {operation}; return 0; }}", property=property, model=model
    ).program
    assert ending(program, inputs) is wanted
    assert len(program.errors) == sites


def test_steps_say_what_is_written(tmp_path: Path) -> None:
    text = "int main(void) {\n  int a = 1, b = 2;\n  do {\n    a += b;\n  } while (a < 9);\n  return a;\n}\n"
    program = loaded(tmp_path, text).program
    texts = [edge.text for edge in program.procedures["main"].edges]
    assert "int b = 2" in texts
    assert "a += b" in texts
    assert "while (a < 9)" in texts
    assert "return a" in texts
    assert any(at.loop is not None and at.loop.line == 8 for at in program.procedures["main"].locations)
    assigned = [op for op in ops(program, Assign) if isinstance(op, Assign)]
    assert all(len(op.targets) == 1 for op in assigned)
    assert not ops(program, Load)


def test_results_of_pure_functions_are_not_inputs(tmp_path: Path) -> None:
    """Two calls with the same arguments return the same, which is not modelled."""
    declared = "int f(int *) __attribute__((pure)); int g(int) __attribute__((const)); int h(int);"
    text = f"{declared} int main(void) {{ int x = 3; int y = f(&x) + g(1) + h(1); CHECK(x == 3); return y; }}"
    program = loaded(tmp_path, text).program
    havocs = [op for op in ops(program, Havoc) if isinstance(op, Havoc)]
    assert [(op.function, bool(op.approximates)) for op in havocs] == [("f", True), ("g", True), ("h", False)]
    assert len(ops(program, Store)) == 1  # of `x`


def test_assembly_that_clobbers_memory_writes_what_its_operands_point_to(tmp_path: Path) -> None:
    text = (
        "int near[3] = {1, 2, 3}, far = 4; int main(void) {"
        'int *p = near; __asm__ volatile("bts %1, %0" : "+m"(*p) : "r"(1) : "memory");'
        "CHECK(far == 4 && near[2] == 3); }"
    )
    found = loaded(tmp_path, text)
    assert [w.code for w in found.warnings] == ["inline-assembly"]
    assert {op.approximates for op in ops(found.program, Havoc)} >= {"how much `assembly` writes"}
    assert verify(tmp_path / "program.c", Settings(engine="bmc", bound=4, timeout=60)).answer == "UNKNOWN"


def test_a_condition_that_the_compiler_may_assume_is_no_check(tmp_path: Path) -> None:
    text = "int main(void) { int x = __VERIFIER_nondet_int(); __builtin_assume(x > 3); CHECK(x > 2); }"
    program = loaded(tmp_path, text).program
    assert ending(program, [5]) is Ending.EXIT
    assert ending(program, [1]) is Ending.UNDEFINED

"""Verdicts on incomplete programs: functions without a body, callbacks, variables that
change by themselves, sections, padding."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify

HEADERS = (
    "err error fcntl netdb poll pthread search stdio stdlib string sys/uio unistd wchar arpa/inet sys/socket"
)
PROGRAM = """#define _GNU_SOURCE
{includes}
extern void reach_error(void);
{outside}
int main(void) {{
    {body}
    return 0;
}}
"""


def answer(path: Path, outside: str, body: str, engine: str = "bmc") -> str:
    includes = "\n".join(f"#include <{name}.h>" for name in HEADERS.split())
    path.write_text(PROGRAM.format(includes=includes, outside=outside, body=body))
    return verify(path, Settings(checks=(), engine=engine, timeout=20)).answer


@pytest.mark.parametrize(
    ("given", "claim", "expected"),
    [
        ("&x", "x == 0", "VIOLATED"),
        ("&s.a", "s.a == 0", "VIOLATED"),
        ("&s.a", "s.b == 0", "HOLDS"),  # another member
        ("a", "a[2] == 0", "VIOLATED"),
        ("a + 1", "a[2] == 0", "VIOLATED"),
        ("1 + a", "a[0] == 0", "VIOLATED"),
        ("&a[1]", "a[0] == 0", "VIOLATED"),
        ("p", "a[1] == 0", "VIOLATED"),
        ("p", "a[2] == 0", "UNKNOWN"),  # how much is written is not known
        ("p", "a[0] == 0", "UNKNOWN"),
        ("p", "x == 0", "HOLDS"),
        ("rows[0]", "rows[1][0] == 0", "UNKNOWN"),
        ("heap", "heap[1] == 0", "UNKNOWN"),
    ],
)
def test_what_a_function_without_a_body_writes(given: str, claim: str, expected: str, tmp_path: Path) -> None:
    body = (
        "int x = 0, a[3] = {0}, rows[2][3] = {{0}}, *p = a + 1, *heap = calloc(3, sizeof(int)); "
        "struct { int a, b; } s = {0, 0}; "
        f"outside({given}); if (!({claim})) reach_error();"
    )
    engine = "predicate" if expected == "HOLDS" else "bmc"
    assert answer(tmp_path / "p.c", "void outside(int *);", body, engine) == expected


@pytest.mark.parametrize("array", ["int n = 2, a[n];", "int *a = __builtin_alloca(8);", "extern int a[];"])
def test_arrays_whose_length_is_not_known(array: str, tmp_path: Path) -> None:
    body = f"{array} a[1] = 0; outside(a); if (a[1]) reach_error();"
    assert answer(tmp_path / "p.c", "void outside(int *);", body) == "UNKNOWN"


@pytest.mark.parametrize("declared", ["int a[]", "struct { int n, a[]; } a"])
def test_an_array_of_another_file_has_any_length(declared: str, tmp_path: Path) -> None:
    element = "a.a[70000]" if "struct" in declared else "a[70000]"
    written = f"{element} = 0; b[0] = 1; if ({element}) reach_error();"
    assert answer(tmp_path / "p.c", f"extern {declared}; extern int b[];", written) == "HOLDS"
    read = f"if ({element}) reach_error();"
    assert answer(tmp_path / "p.c", f"extern {declared};", read) == "UNKNOWN"


@pytest.mark.parametrize(
    ("outside", "call", "claim", "expected"),
    [
        ("struct big outside(int *, const int *)", "outside(&x, &y)", "x == 0", "VIOLATED"),
        ("struct big outside(int *, const int *)", "outside(&x, &y)", "y == 0", "HOLDS"),
        ("void outside(struct pair, int *, const int *)", "outside(pair, &x, &y)", "x == 0", "VIOLATED"),
        ("void outside(struct pair, int *, const int *)", "outside(pair, &x, &y)", "y == 0", "HOLDS"),
        ("void outside(_Complex double, int *, const int *)", "outside(1, &x, &y)", "x == 0", "VIOLATED"),
        ("void outside(const int *, struct pair, int *)", "outside(&y, pair, &x)", "y == 0", "HOLDS"),
        ("void outside(struct pair, int *, struct pair)", "outside(pair, &x, pair)", "x == 0", "UNKNOWN"),
        ("void outside(union number)", "outside((union number){.pointer = &x})", "x == 0", "UNKNOWN"),
    ],
)
def test_records_and_pointers_as_arguments(
    outside: str, call: str, claim: str, expected: str, tmp_path: Path
) -> None:
    """A record may be passed in several registers, so that the arguments behind it have other numbers."""
    types = (
        "struct big { long a, b, c; }; struct pair { long a, b; }; union number { long n; int *pointer; };"
    )
    body = f"int x = 0, y = 0; struct pair pair = {{1, 2}}; {call}; if (!({claim})) reach_error();"
    engine = "predicate" if expected == "HOLDS" else "bmc"
    assert answer(tmp_path / "p.c", f"{types} {outside};", body, engine) == expected


@pytest.mark.parametrize(
    "body",
    [
        "size_t n = 2; int k = 1, a[2] = {1, 2}; lfind(&k, a, &n, sizeof(int), compare);",
        "int a[2] = {1, 2}; qsort_r(a, 2, sizeof(int), compare_with, 0);",
        "pthread_once(&once, run);",
        "pthread_atfork(run, run, run);",
        "char text[8] = {0}; struct iovec v = {text, 8}; readv(0, &v, 1); if (text[1]) reach_error();",
        "static char text[64]; setvbuf(stdout, text, _IOFBF, 64); puts(text); if (text[1]) reach_error();",
        'char s[9] = {0}; FILE *f = fmemopen(s, 9, "w"); if (f) fputs("a", f); if (*s) reach_error();',
        "char text[9] = {0}, *p = text; getentropy(p, 4); if (text[2]) reach_error();",
        "int ends[2] = {0}, *p = ends; pipe(p); if (ends[1]) reach_error();",
        "struct flock lock = {0}; fcntl(0, F_GETLK, &lock); if (lock.l_start) reach_error();",
        "struct pollfd all[2] = {0}, *p = all; poll(p, 2, 0); if (all[1].revents) reach_error();",
    ],
)
def test_what_the_library_does_with_pointers(body: str, tmp_path: Path) -> None:
    outside = (
        "void run(void) { reach_error(); } "
        "pthread_once_t once = PTHREAD_ONCE_INIT; "
        "int compare(const void *a, const void *b) { reach_error(); return 0; } "
        "int compare_with(const void *a, const void *b, void *c) { reach_error(); return 0; }"
    )
    assert answer(tmp_path / "p.c", outside, body) == "UNKNOWN"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('error(1, 0, "x"); reach_error();', "HOLDS"),
        ('error(0, 0, "x"); reach_error();', "VIOLATED"),
        ('atexit(reach_error); error(1, 0, "x");', "VIOLATED"),
        ('atexit(reach_error); errx(1, "x");', "VIOLATED"),
        ('errx(1, "x"); reach_error();', "HOLDS"),
        ("alarm(1); reach_error();", "UNKNOWN"),
        ("getpriority(0, 0); reach_error();", "UNKNOWN"),  # whether it comes back is not known
    ],
)
def test_what_may_end_the_program(body: str, expected: str, tmp_path: Path) -> None:
    assert answer(tmp_path / "p.c", "#include <sys/resource.h>", body) == expected


@pytest.mark.parametrize("last", ["", "__attribute__((destructor)) void last(void) { reach_error(); }"])
def test_a_function_that_does_not_return_may_call_exit(last: str, tmp_path: Path) -> None:
    outside = f"_Noreturn void stop(void); {last}"
    body = "stop();" if last else "atexit(reach_error); stop();"
    assert answer(tmp_path / "p.c", outside, body) == "UNKNOWN"


def test_a_stream_that_is_opened_again_may_be_the_same(tmp_path: Path) -> None:
    body = 'FILE *f = freopen("a", "r", stdin); if (f == stdin) reach_error();'
    assert answer(tmp_path / "p.c", "", body) == "VIOLATED"


@pytest.mark.parametrize(
    "kind", ["int clock_ticks", "const int clock_ticks", "struct { int a; } clock_ticks"]
)
def test_a_volatile_variable_of_another_file_changes_by_itself(kind: str, tmp_path: Path) -> None:
    member = ".a" if "struct" in kind else ""
    read = f"clock_ticks{member}"
    body = f"int a = {read}, b = {read}; if (a != b) reach_error();"
    assert answer(tmp_path / "p.c", f"extern volatile {kind};", body) == "VIOLATED"
    assert answer(tmp_path / "p.c", f"extern {kind};", body) == "HOLDS"


@pytest.mark.parametrize(
    ("type_", "call", "expected"),
    [
        ("void (*)(void)", "p()", "VIOLATED"),
        ("void (*)(int)", "p(3)", "UNKNOWN"),  # machines do it
        ("int (*)(void)", "p()", "UNKNOWN"),
        ("void *", "((int (*)(long))p)(3)", "UNKNOWN"),
        ("void *", "((void (*)(void))p)()", "VIOLATED"),
        ("void (*)()", "p(3, 4)", "UNKNOWN"),
    ],
)
def test_a_function_may_be_called_as_one_of_another_type(
    type_: str, call: str, expected: str, tmp_path: Path
) -> None:
    declared = type_.replace("(*)", "(*p)") if "(*)" in type_ else f"{type_}p"
    outside = "void run(void) { reach_error(); }"
    assert answer(tmp_path / "p.c", outside, f"{declared} = ({type_})run; {call};") == expected


def test_a_union_may_make_a_function_one_of_another_type(tmp_path: Path) -> None:
    outside = "void run(void) { reach_error(); } union { void (*a)(void); void (*b)(int); } u;"
    assert answer(tmp_path / "p.c", outside, "u.a = run; u.b(3);") == "UNKNOWN"


@pytest.mark.parametrize(("section", "expected"), [(".init_array", "UNKNOWN"), (".mine", "HOLDS")])
def test_what_sections_mean(section: str, expected: str, tmp_path: Path) -> None:
    outside = (
        "void run(void) { reach_error(); } "
        f'__attribute__((section("{section}"))) void (*entry)(void) = run;'
    )
    assert answer(tmp_path / "p.c", outside, "") == expected


@pytest.mark.parametrize(
    ("type_", "first"),
    [
        ("struct { char c; int i; }", "{1, 2}"),
        ("struct { char c; int i; }", "{0}"),
        ("struct { int i; struct { short s; char c; } inner; }", "{1, {2, 3}}"),
    ],
)
def test_initialisers_say_nothing_about_padding(type_: str, first: str, tmp_path: Path) -> None:
    compared = f"{type_} s = {first}, t = {first}; if (memcmp(&s, &t, sizeof s)) reach_error();"
    assert answer(tmp_path / "p.c", "", compared) == "UNKNOWN"


def test_members_keep_their_values_beside_padding(tmp_path: Path) -> None:
    body = (
        "struct { char c; unsigned a : 3, b : 7; int i; } s = {1, 2, 0, 3}, z = {0}, w[2] = {{1}, {.b = 3}}; "
        "if (s.c != 1 || s.a != 2 || s.b || s.i != 3 || z.c || z.a || z.b || z.i) reach_error(); "
        "if (w[0].c != 1 || w[0].b || w[1].b != 3 || w[1].a || w[1].i) reach_error();"
    )
    assert answer(tmp_path / "p.c", "", body) == "HOLDS"


@pytest.mark.parametrize(
    "reads",
    [
        "struct { int n; union u u; } s = {1, {7}}; if (s.u.x != 7) reach_error();",
    ],
)
def test_initialisers_say_nothing_about_the_rest_of_a_union_in_a_record(reads: str, tmp_path: Path) -> None:
    union = "union u { char c; int x; struct { char a; int b; } s; };"
    assert answer(tmp_path / "p.c", union, reads) == "UNKNOWN"


@pytest.mark.parametrize(
    "reads",
    [
        "union u u = {7}; if (u.x != 7) reach_error();",
        "union u u = {.s = {1, 2}}; int word; memcpy(&word, &u, 4); if (word != 1) reach_error();",
        "union u a[2] = {{7}, {.c = 8}}; if (a[1].x != 8) reach_error();",
        "if ((union u){7}.x != 7) reach_error();",
        "int i = 0; again: ; union u u = {7}; if (u.x != 7) reach_error(); if (i++ < 2) goto again;",
        "union { int i; char room[1000]; } u = {7}; if (u.room[999]) reach_error();",
        "union { int bits : 5; int all; } u = {3}; if (u.all != 3) reach_error();",
        "struct b { unsigned a : 3, b : 7; } *b = &(struct b){1, 2}; int word; memcpy(&word, b, 4);"
        "if (word != 17) reach_error();",
    ],
)
def test_clang_clears_the_rest_of_a_union(reads: str, tmp_path: Path) -> None:
    """C leaves it open; the program that is verified is the one that Clang compiles."""
    union = "union u { char c; int x; struct { char a; int b; } s; };"
    assert answer(tmp_path / "p.c", union, reads) == "HOLDS"


def test_also_in_literals_in_headers(tmp_path: Path) -> None:
    header = "union u { char c; int x; }; static int all(void) { return (union u){7}.x; }"
    (tmp_path / "literal.h").write_text(header)
    assert answer(tmp_path / "p.c", '#include "literal.h"', "if (all() != 7) reach_error();") == "HOLDS"


def test_members_of_unions_keep_their_values_beside_the_rest(tmp_path: Path) -> None:
    unions = (
        "union u { char c; int x; struct { char a; int b; } s; }; struct b { unsigned a : 3, b : 7; };"
        "struct w { int n; union u u; union { short h; long l; } v; };"
        "union u g = {7}; static union u some[3] = {{1}, {.x = 5}};"
    )
    body = """
    int i = 0;
again:;
    static union u fixed = {9};
    union u first = {7}, other = {.x = 513}, inner = {.s = {1, 2}}, a[3] = {{1}, {.x = 700}};
    union { int bits : 5; long all; } f = {-3};
    union { int i; char room[100]; } v = {3};
    struct w w = {1, {2}, {3}}, z = {1}, *p = &(struct w){4, {.x = 5}, {6}};
    struct b b = {2, 100}, c = (struct b){3, 101};
    if (g.x != 7 || some[0].x != 1 || some[1].c != 5 || some[2].x || fixed.x != 9) reach_error();
    if (first.c != 7 || other.c != 1 || other.x != 513 || inner.s.a != 1 || inner.s.b != 2) reach_error();
    if (a[0].c != 1 || a[1].x != 700 || a[2].x || f.bits != -3) reach_error();
    if (v.i != 3 || v.room[0] != 3 || v.room[3]) reach_error();
    if (w.n != 1 || w.u.c != 2 || w.v.h != 3 || z.u.c || z.v.h) reach_error();
    if (p->n != 4 || p->u.x != 5 || p->v.h != 6) reach_error();
    if (b.a != 2 || b.b != 100 || c.a != 3 || c.b != 101) reach_error();
    w.v.l = 77, b.a = 7, p->v.l = -1, a[2].x = 3, v.room[3] = 1;
    if (i++ < 2) goto again;
"""
    assert answer(tmp_path / "p.c", unions, body) == "HOLDS"

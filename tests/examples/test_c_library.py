"""Verdicts on programs that look at what library functions give: inputs, or what is not modelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus import Settings, verify
from certus.core.evidence import Unknown
from certus.report.outcome_view import assumptions

PROGRAM = """#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <libgen.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>
extern void reach_error(void);
int main(void) {{
    int x = 0, n = 5; char text[9]; wchar_t wide[3]; time_t t = 0;
    {body}
    return 0;
}}
"""


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ('if (scanf("%d", &x) == 1 && x == 1000) reach_error();', "VIOLATED"),
        ('if (scanf("%d %*d %hd", &x, (short *)&n) == -1) reach_error();', "VIOLATED"),
        ('if (scanf("%2d", &x) == 1 && x == 1000) reach_error();', "UNKNOWN"),  # two digits
        ('if (sscanf("x", "%d", &x) < 0) reach_error();', "UNKNOWN"),  # no number: 0
        ('if (sscanf("12", "%d", &x) == 1 && x != 12) reach_error();', "UNKNOWN"),
        ('if (scanf("%d%n", &x, &n) == 1 && n != 5) reach_error();', "UNKNOWN"),  # how much was read
        ('if (scanf("%d%n", &x, &n) == 1 && n == 5) reach_error();', "UNKNOWN"),
        ("if (scanf(text, &x) == 1 && x == 3) reach_error();", "UNKNOWN"),
        ('if (scanf("hello") == 1) reach_error();', "HOLDS"),
        ('if (!fopen("a", "r")) reach_error();', "VIOLATED"),
        ("if (!strerror(1)) reach_error();", "UNKNOWN"),  # never null
        ("if (!localeconv()) reach_error();", "UNKNOWN"),
        ('if (!wcscpy(wide, L"a")) reach_error();', "HOLDS"),
        (
            "struct tm *a = localtime(&t); if (a) { int y = a->tm_year; localtime(&t); "
            "if (a->tm_year != y) reach_error(); }",
            "UNKNOWN",
        ),  # one object for all calls
        ("struct tm *a = localtime(&t); if (a && a == localtime(&t)) reach_error();", "UNKNOWN"),
        ("struct tm *a = gmtime(&t); if (a && a == localtime(&t)) reach_error();", "UNKNOWN"),
        (
            "struct lconv *a = localeconv(); if (a) { char k = a->frac_digits; setlocale(LC_ALL, text); "
            "if (a->frac_digits != k) reach_error(); }",
            "UNKNOWN",
        ),  # what another function gave
        ('char *a = getenv("A"); if (a && !getenv("A")) reach_error();', "UNKNOWN"),  # never both
        ('char *a = getenv("A"); getenv("B"); if (a && a == getenv("A")) reach_error();', "UNKNOWN"),
        (
            'char *a = getenv("A"), k; if (a) { k = *a; setenv("A", "x", 1); if (*a != k) reach_error(); }',
            "UNKNOWN",
        ),
        ('char name[] = "A=1"; putenv(name); if (getenv("A") == name + 2) reach_error();', "UNKNOWN"),
        ("if (basename(text) == text) reach_error();", "UNKNOWN"),
        ("if (ttyname(-1)) reach_error();", "UNKNOWN"),  # never
        ("char *a = tmpnam(0); if (a && a == tmpnam(0)) reach_error();", "UNKNOWN"),
        ("char *a = tmpnam(0); if (a && a == text) reach_error();", "UNKNOWN"),
        ("FILE *a = tmpfile(); if (a && a == tmpfile()) reach_error();", "HOLDS"),
        ("if (realpath(text, 0)) reach_error();", "VIOLATED"),  # makes a string itself
        ("if (getcwd(0, 0)) reach_error();", "VIOLATED"),
        ("if (getcwd(text, 9) == text + 1) reach_error();", "HOLDS"),
        (
            "char *p = text, *q = p; size_t k = 9; getline(&p, &k, stdin); if (p == q) reach_error();",
            "UNKNOWN",
        ),
        (
            "char *p = text, *q = p; size_t k = 9; getline(&p, &k, stdin); if (p != q) reach_error();",
            "UNKNOWN",
        ),
        ('if ("q" != "q") reach_error();', "HOLDS"),  # equal literals are one object
        ('printf("ab%n", &n); if (n != 2) reach_error();', "UNKNOWN"),
        ('char f[] = "%s%n"; printf(f, "ab", &n); if (n != 5) reach_error();', "UNKNOWN"),
        ('wprintf(L"ab%n", &n); if (n != 5) reach_error();', "UNKNOWN"),
        ('printf("%p", (void *)&n); if (n != 5) reach_error();', "HOLDS"),
        ("srand(n); if (rand() == 5) reach_error();", "VIOLATED"),
        ("srand(1); x = rand(); srand(1); if (x != rand()) reach_error();", "UNKNOWN"),  # the same seed
        ("ungetc(65, stdin); if (getchar() != 65) reach_error();", "UNKNOWN"),
        (
            "FILE *f = tmpfile(); if (f) { fputc(65, f); rewind(f); if (fgetc(f) != 65) reach_error(); }",
            "UNKNOWN",
        ),
        ("if (fgets(text, 9, stdin) && text[0] == 10) reach_error();", "VIOLATED"),
        ("if (fgets(text, 0, stdin)) reach_error();", "UNKNOWN"),  # no room
        ("if (fread(text, 0, 3, stdin)) reach_error();", "HOLDS"),
        ("if (fread(text, 1, 1, stdin) == 1) reach_error();", "VIOLATED"),
        ("if (read(-1, text, 3) == 3) reach_error();", "HOLDS"),  # no file
        ("if (read(0, text, 3) == 3) reach_error();", "VIOLATED"),
        ('if (scanf("%d", &x) != 1) reach_error();', "VIOLATED"),
        ('if (scanf("%d", &x) == 0 && scanf("%d", &x) == 1) reach_error();', "UNKNOWN"),  # the same text
        ('if (scanf(" %c", text) == 1 && text[0] == 32) reach_error();', "UNKNOWN"),  # spaces are skipped
        ('scanf("%d", &x); if (getchar() == 53) reach_error();', "UNKNOWN"),  # that is part of the number
        ('scanf("%d", &x); if (getchar() < 0 && x == 7) reach_error();', "VIOLATED"),
        ("char *p = malloc(4); if (realloc(p, 0)) reach_error();", "UNKNOWN"),
        ("char *p = malloc(4); if (!realloc(p, 0)) reach_error();", "UNKNOWN"),
        ("char *p = malloc(4); *p = 3; p = realloc(p, n); if (*p != 3) reach_error();", "HOLDS"),
        ('setlocale(LC_ALL, ""); if (isalpha(228)) reach_error();', "UNKNOWN"),
        ('setlocale(LC_ALL, ""); if ((*__ctype_b_loc())[228]) reach_error();', "UNKNOWN"),
        (
            'char b[] = "abc", *p; setlocale(LC_ALL, ""); p = strcasestr(b, "B"); *p = 0; '
            "if (!b[1]) reach_error();",
            "UNKNOWN",
        ),
        ("if (isalpha(228)) reach_error();", "HOLDS"),
        ('char b[4]; b[3] = 7; snprintf(b, 100, "a"); if (b[3] == 7) reach_error();', "UNKNOWN"),
        ('char b[4]; snprintf(b, 4, "a"); reach_error();', "VIOLATED"),
        ("if (!stdin || stdin == stdout || stdout == stderr) reach_error();", "HOLDS"),
        ("if (optind != 1) reach_error();", "UNKNOWN"),  # the library's own
        ("raise(6); reach_error();", "UNKNOWN"),  # the signal may end the program
        ("if (random() > 2147483647) reach_error();", "HOLDS"),
        ("void *p; if (posix_memalign(&p, 3, 10) == 0) reach_error();", "UNKNOWN"),  # no alignment
        ("void *p; if (posix_memalign(&p, 64, 10) == 0 && (long)p % 64) reach_error();", "HOLDS"),
        ("if ((long)aligned_alloc(n, 64) % 16) reach_error();", "UNKNOWN"),  # may be no alignment
        ("if (aligned_alloc(3, 3)) reach_error();", "UNKNOWN"),
        ("if ((long)aligned_alloc(64, 64) % 64) reach_error();", "HOLDS"),
        (
            "if (__builtin_object_size(text, 0) == sizeof text) reach_error();",
            "VIOLATED",
        ),  # the size is unknown
        ("if (__builtin_constant_p(n)) reach_error();", "UNKNOWN"),  # if it is optimised
        ("if (__builtin_constant_p(n) && n != n) reach_error();", "HOLDS"),
        ('if (__builtin_constant_p("a")) reach_error();', "VIOLATED"),
        ("if (mmap(0, 1, 3, 34, -1, 0) == MAP_FAILED) reach_error();", "UNKNOWN"),
    ],
)
def test_what_library_functions_give(body: str, answer: str, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(PROGRAM.format(body=body))
    found = verify(path, Settings(checks=(), engine="bmc", options={"bmc.bound": "20"}, timeout=60))
    assert found.answer == answer


VALID = "memory accesses are valid"
SUCCEED = "allocations succeed"
ENDED = "the address of an object that has ended is not used again"
ORDER = "no object lies between two that were there before it"
ALL = (VALID, SUCCEED, ENDED)


@pytest.mark.parametrize(
    ("body", "assumed"),
    [
        ("text[x] = 1; if (text[0] != 1) reach_error();", (VALID,)),
        ("int *p = malloc(4); *p = 3; if (*p != 3) reach_error();", (VALID, SUCCEED)),
        ("int *p = malloc(4); long a = (long)p; free(p); if ((long)malloc(4) == a) reach_error();", ALL),
        ("int *p = malloc(4); *p = x; x = *p; free(p); if (x) reach_error();", ALL),
        ("int *p = 0; while (x < 2) { int y = x++; if (p == &y) reach_error(); p = &y; }", (VALID, ENDED)),
        ("if (&x < &n && &n < &x) reach_error();", (VALID, ENDED, ORDER)),
    ],
)
def test_what_a_proof_assumes(body: str, assumed: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(PROGRAM.format(body=body))
    found = verify(path, Settings(checks=(), engine="bmc", timeout=60, execute=False))
    assert found.answer == "HOLDS"
    assert assumptions(found) == assumed


def test_a_run_that_breaks_an_assumption_is_no_holds(tmp_path: Path) -> None:
    """Natively the variable of the next round has the address of the one before."""
    path = tmp_path / "program.c"
    body = "int *p = 0; while (x < 2) { int y = x++; if (p == &y) reach_error(); p = &y; }"
    path.write_text(PROGRAM.format(body=body))
    found = verify(path, Settings(checks=(), engine="bmc", timeout=60))
    assert isinstance(found.verdict, Unknown)
    assert found.verdict.reason.code == "model-disagrees"


@pytest.mark.parametrize("claim", ["&n < &x", "(unsigned long)&n < (unsigned long)&x", "&x - &n == 1"])
def test_objects_may_lie_in_any_order(claim: str, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(PROGRAM.format(body=f"if ({claim}) reach_error();"))
    assert verify(path, Settings(checks=(), engine="bmc", timeout=60)).answer != "HOLDS"

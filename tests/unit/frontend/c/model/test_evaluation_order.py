"""A warning says where the order of evaluation matters."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.frontend.c.load import load_c

FUNCTIONS = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void reach_error(void);
int g;
int one(void) { g = 1; return 0; } int two(void) { g = 2; return 0; }
int next(void) { return ++g; } int twice(void) { return next() + 1; }
int step(int *p) { *p += 1; return *p; }
int pure(int x) { int y = x; y++; return y; }
void both(int x, int y) {}
int outside(int); int filled(int *);
void stop(void) { exit(0); } void check(int c) { if (!c) { reach_error(); abort(); } }
int stopping(int x) { if (x) stop(); return x; } int checking(int x) { check(x); return x; }
int (*chosen)(void) = next;
struct r { int n, m; } r;
int of(struct r s, int y) { return s.n + y; } int change(void) { r.n = 7; return 1; }
struct r made(struct r s) { s.n++; return s; }
int more(int n, ...) { return n; }
struct big { int n[9]; }; struct big filling(int x, int y) { struct big b = {{x, y}}; return b; }
#define NEXT x = next();
"""


def lines_told_of(path: Path, body: str) -> list[int]:
    path.write_text(
        f"{FUNCTIONS}int main(void) {{ int i = 0, x = 0, a[3] = {{0}}, *p = a; char s[9], t[9];\n"
        f"{body}\nreturn 0; }}\n"
    )
    told = [w.span.line for w in load_c(path).warnings if w.code == "evaluation-order" and w.span]
    return [line - FUNCTIONS.count("\n") - 1 for line in told]


@pytest.mark.parametrize(
    "body",
    [
        "both(one(), two());",
        "x = g + next();",
        "x = twice() * g;",  # by a call of a call
        "a[g] = next();",
        "g += next();",
        "x = i++ + i;",
        "x = step(&i) - step(&i);",
        "x = *p + step(p);",
        "both(i = 1, i);",
        "x = a[i] + (a[1] = 3);",
        "x = i[a + (i = 1)];",
        "x = a[0] + step(a);",
        "int b[2] = {next(), g};",
        "x = chosen() + g;",
        "x = a[0] + filled(a);",
        "x = strlen(s) + (strcpy(s, t), 1);",
        "x = a[0] + (memset(a, 1, 4), 1);",
        'x = a[0] + (scanf("%d", a), 1);',
        'x = i + printf("%n", &i);',
        "both(stopping(i), checking(i));",
        "x = rand() + (srand(1), 2);",
        "r.n = 1; x = of(r, change());",
        "void (*also)(int, int) = both; (*also)(next(), g);",
        "x = (int[2]){next(), g}[0];",
        "x = of(x ? r : r, change());",
        "x = x ? pure(1) : next() + next();",
        "a[g] = x && next();",
    ],
)
def test_orders_that_matter(body: str, tmp_path: Path) -> None:
    assert lines_told_of(tmp_path / "p.c", body) == [1]


def test_arguments_that_are_read_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "p.c"
    path.write_text(
        "int more(int n, ...) { __builtin_va_list l; __builtin_va_start(l, n);\n"
        "return __builtin_va_arg(l, int) - __builtin_va_arg(l, int); }\n"
        "int main(void) { return more(2, 3, 4); }\n"
    )
    (warning,) = load_c(path).warnings
    assert warning.code == "evaluation-order"
    assert warning.span is not None
    assert warning.span.line == 2


@pytest.mark.parametrize(
    "body",
    [
        "g = next(); x = next(); i = x;",
        "x = pure(1) + pure(pure(2)); both(pure(x), pure(i));",
        "a[i++] = 3; *p++ = 1; *p = *p + 1; i = i + 1;",
        "x = next() && next() || g; x = (next(), g); x = next() ? g : two();",
        "x = outside(1) + outside(2);",
        "x = a[i] + (i == 1); i += i; for (i = 0; i < 3; i++) x += i;",
        'x = strcmp(s, t) + strlen(s) + printf("%d", i);',
        "both(checking(i), checking(x)); both(stopping(i), stopping(x));",
        "x = rand() + rand(); both(outside(1), filled(0)); p = malloc(4) ? p : malloc(8);",
        "int b[3] = {i, pure(i), g};",
        "int b = next(), c = next(); for (b = next(), c = g; b < g; b++, c--) x += g;",
        "x = pure(next()); g = (next(), 5); g = x ? next() : g; a[1] = a[0], a[2] = a[1];",
        "int b[2] = {0, next()}; struct r q = {g, 1}; q = made(q); x = of(made(made(q)), pure(1));",
        "NEXT NEXT NEXT",
        "memset(a, next(), 4); x = more(1, next()) + a[0]; both(malloc(1) != 0, malloc(2) != 0);",
        "p = malloc(4); p = realloc(p, 8); both(malloc(1) != 0, malloc(2) != 0);",
        "int (*table[2])(int *) = {step, step}; x = table[g](&a[g]) + 1; x = (*table[i])(p);",
        "struct big *b = malloc(sizeof *b); *b = filling(a[0], r.n); b[0] = filling(g, pure(g));",
        "x = (int)(next(), g); x = (short)(g++, g);",
        "if (next()) x = g; while (next() < 5) x = next();",
    ],
)
def test_orders_that_do_not_matter(body: str, tmp_path: Path) -> None:
    assert lines_told_of(tmp_path / "p.c", body) == []

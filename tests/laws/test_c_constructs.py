"""Constructs of C one by one: a program for each does the same in our interpreter and compiled."""

from __future__ import annotations

import pytest
from tests.laws.c_differential import Result, compare_text
from tests.laws.c_programs import NARROW, PREAMBLE

DECLARATIONS = "".join(f"{t} __VERIFIER_nondet_{n}(void);\n" for t, n in NARROW.items())

VARIABLE_LENGTHS = """
static int calls;
static int length(int n) { calls++; return n + 1; }
static long sum(int n, int m, int a[n][m]) {
    long total = sizeof a[0];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) total = 3 * total + a[i][j];
    return total;
}
static long cube(unsigned n, short (*a)[n][n + 1]) {
    long total = sizeof *a + sizeof a[0][0];
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < n; j++)
            for (unsigned k = 0; k < n + 1; k++) total = 5 * total + a[i][j][k];
    return total;
}
void one(void) {
    int n = __VERIFIER_nondet_uchar() % 4 + 1, m = 3;
    int a[n][m];
    for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] = i * 10 + j;
    n = 9, m = 9;
    observe(sizeof a), observe(sizeof a[1]), observe(sizeof a / sizeof a[0]);
    observe(sum(sizeof a / sizeof a[0], 3, a));
    int (*p)[3] = a, (*q)[m - 6] = a;
    q++;
    observe(q[-1][2]), observe((*(q - 1))[1]), observe(q - a), observe(*(a[0] + 2)), observe(&a[1] - a);
    q -= 1, q += 1, --q;
    observe(q == p), observe((char *)(q + 1) - (char *)a);
}
void two(void) {
    unsigned n = __VERIFIER_nondet_uchar() % 3 + 1;
    short a[2][n][n + 1];
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < n; j++)
            for (unsigned k = 0; k < n + 1; k++) a[i][j][k] = 100 * i + 10 * j + k;
    observe(cube(n, a)), observe(sizeof a), observe(sizeof(a[0][0][0])), observe(_Alignof(a));
}
void three(void) {
    int n = __VERIFIER_nondet_uchar() % 5 + 2;
    typedef int row[n];
    n = 1;
    row a, b[3], *p = &b[1];
    a[1] = 5, b[2][1] = 6, (*p)[0] = 7, p[1][0] = 8;
    observe(sizeof a), observe(sizeof b), observe(sizeof(row)), observe(a[1] + b[2][1] + b[1][0] + b[2][0]);
    observe(p + 1 - b), observe(sizeof(*p));
}
void four(void) {
    int n = 3;
    char a[length(n)][length(2)], b[n > 2 ? n + 1 : 7][(n && calls) + 1];
    observe(calls), observe(sizeof a), observe(sizeof b), observe(sizeof(int[length(n)])), observe(calls);
    observe(sizeof(a[n++])), observe(n);
    char *c = (char *)a;
    for (unsigned i = 0; i < sizeof a; i++) c[i] = i;
    observe(((char (*)[n])c)[1][1]), observe((*(char (*)[n - 2][2])c)[1][1]);
}
void five(void) {
    long total = 0;
    for (int n = 1; n < 5; n++) {
        int a[n][n], *p = &a[0][0];
        for (int i = 0; i < n * n; i++) p[i] = i;
        if (n == 2) continue;
        total = 7 * total + a[n - 1][n - 1] + sizeof a;
        if (n == 4) break;
    }
    observe(total);
    int n = 4;
    unsigned char zeros[n] = {};
    observe(zeros[0] + zeros[3]), observe(sizeof zeros);
    const int m = 2;
    int *a[n], (*f[2])[m];
    int x[2][2] = {{1, 2}, {3, 4}};
    a[3] = x[1], f[1] = x;
    observe(a[3][1]), observe(f[1][1][0]), observe(sizeof a == 4 * sizeof(int *)), observe(sizeof f[0][0]);
}
int main(void) { switch (__VERIFIER_nondet_uint()) {
    case 0: one(); break; case 1: two(); break; case 2: three(); break; case 3: four(); break;
    case 4: five(); break; } }
"""


@pytest.mark.parametrize("model", ["LP64", "ILP32"])
@pytest.mark.parametrize(
    ("text", "programs"),
    [
        pytest.param(VARIABLE_LENGTHS, 5, id="variable-length arrays"),
    ],
)
def test_constructs_do_the_same_compiled(text: str, programs: int, model: str) -> None:
    found = compare_text(PREAMBLE + DECLARATIONS + text, programs, seed=1, tables=3, model=model)
    assert [c for c in found if c.result is not Result.AGREED] == []
    assert all(c.ours.observed for c in found)

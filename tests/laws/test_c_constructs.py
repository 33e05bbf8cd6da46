"""Constructs of C one by one: a program for each behaves alike in our interpreter and compiled."""

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
    int d[n++][--n], e[n-- - -1];
    observe(sizeof d), observe(n), observe(sizeof e), observe(sizeof(char[++n])), observe(n);
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

OBJECTS = """
struct padded { char a; int b; short c; };
union mixed { int i; short s[2]; struct padded p; unsigned bits : 5; };
struct padded *global = &(struct padded){1, 2, 3};
static int *array[2] = {(int[]){1, 2, 3}, &(int){4}};
int aligned __attribute__((aligned(64))), *far = &(int){9};
struct tight { char c; long long l; } __attribute__((packed));
static int get(const int *p) { return *p; }
static int member(union mixed u) { return u.i; }
static struct padded made(int n) { return (struct padded){.b = n, .a = 3}; }
void one(void) {
    int n = __VERIFIER_nondet_int();
    observe(global->b + global->c), observe(array[0][2] + *array[1]), observe(*far);
    int *p = &(int){n};
    struct padded *q = &(struct padded){.c = n};
    (*p)++;
    observe(*p), observe(q->a + q->b), observe(q->c), observe(get(&(int){n}));
    observe(get((int[]){1, n} + 1));
    for (int i = 0; i < 3; i++) {
        int *r = &(int){i};
        observe(*r), *r = n;
    }
    observe((struct padded){n, n, n}.c), observe((unsigned char){n}), observe(made(n).b + made(2).a);
    (int){5}++;
}
void two(void) {
    int n = __VERIFIER_nondet_int();
    union mixed u = (union mixed)n;
    observe(u.s[1]), observe(member((union mixed)n)), observe(((union mixed)(unsigned)n).bits);
    observe(((union mixed)made(n)).p.b);
}
void three(void) {
    struct padded x, y, z[2];
    unsigned char *bytes = (unsigned char *)&y;
    memset(&x, 7, sizeof x), memset(&y, 9, sizeof y);
    x.a = 1, x.b = __VERIFIER_nondet_int(), x.c = 3;
    y = x;
    for (unsigned i = 0; i < sizeof y; i++) observe(bytes[i]);
    z[1] = y, bytes = (unsigned char *)&z[1];
    for (unsigned i = 0; i < sizeof y; i++) observe(bytes[i]);
}
void four(void) {
    struct tight t;
    struct padded x[3];
    long long l;
    observe(__alignof__(aligned)), observe(_Alignof(x[1])), observe(__alignof__(l)), observe(_Alignof(l));
    observe(__alignof__(t.l)), observe(__alignof__ x[0].c), observe(_Alignof(x)), observe(_Alignof(x->b));
    observe(__alignof__(t)), observe(__alignof__(*global)), observe(_Alignof(long long)), observe(sizeof t);
    observe(((struct { int unused; } *)0) == 0);
}
int main(void) { switch (__VERIFIER_nondet_uint()) {
    case 0: one(); break; case 1: two(); break; case 2: three(); break; case 3: four(); break; } }
"""
EXACT_WIDTHS = """
typedef _BitInt(5) small;
typedef unsigned _BitInt(37) wide;
struct holder { char c; small s; wide w; unsigned _BitInt(9) a : 3, b : 6; small last; };
static wide times(small s, wide w) { wide *p = &w; small *q = &s; ++*q, *p *= 3; return *p * *q; }
void one(void) {
    int n = __VERIFIER_nondet_int();
    small s = n, t = 7;
    wide w = n;
    observe(s + t), observe((int)(s * t)), observe(s - (small)15), observe(-s), observe(~s), observe(s >> 1);
    observe(w + s), observe(w / 3), observe(w << 7), observe(s < t), observe(w > s), observe(!s);
    observe(w % 1000);
    observe((short)w + s), observe((unsigned char)s), observe((_Bool)s), observe((long long)(s + n));
    observe(times(t, w)), observe(s == n), observe((wide)-1), observe((small)(n + 1));
    s++, w--, s += n, w <<= 2;
    observe(s), observe(w), observe(t ? s : t), observe(s | w), observe(s & (small)3 ^ t);
}
void two(void) {
    struct holder h = {1, 2, 3, 4, 5, -6}, *p = &h, copy;
    h.s += __VERIFIER_nondet_int(), p->w += h.s, h.a += 9, h.b -= 7;
    copy = h;
    small array[3] = {1, __VERIFIER_nondet_int()};
    observe(copy.s), observe(copy.w), observe(copy.a), observe(copy.b), observe(copy.last);
    observe(array[1] + array[2]);
    observe(sizeof(small)), observe(sizeof(wide)), observe(sizeof h), observe(_Alignof(wide));
    observe(sizeof(_BitInt(65))), observe(sizeof(_BitInt(127))), observe(sizeof array);
    observe(_Alignof(_BitInt(100)));
    _BitInt(100) big = __VERIFIER_nondet_longlong();
    big = big * big + 1;
    observe(big), observe(big >> 50), observe(big < 0);
}
int main(void) { switch (__VERIFIER_nondet_uint()) { case 0: one(); break; case 1: two(); break; } }
"""
POINTERS = """
static int twice(int n) { return 2 * n; }
void one(void) {
    int (*input)(void) = __VERIFIER_nondet_int, (*f)(int) = twice;
    void *(*copy)(void *, const void *, __SIZE_TYPE__) = memcpy;
    int n = input(), m = 0;
    observe(n), copy(&m, &n, sizeof n), observe(m), observe((*f)(n)), observe((&twice)(n) == (**f)(n));
}
void two(void) {
    void (*end)(void) = __VERIFIER_nondet_int() > 3 ? reach_error : abort;
    observe(1), end(), observe(2);
}
int main(void) { switch (__VERIFIER_nondet_uint()) { case 0: one(); break; case 1: two(); break; } }
"""


MEMORY = """
struct bits { unsigned a : 17; int b : 7; unsigned c : 24; int d : 9; long long e : 40; };
struct __attribute__((packed)) packed { unsigned a : 17; int b : 7; char c; int d : 20; long long e : 44; };
#define FIELDS(type) \\
    type x, *p = &x, y[2]; \\
    memset(&x, 0, sizeof x); \\
    x.a = __VERIFIER_nondet_int(), x.b = __VERIFIER_nondet_int(), x.c = __VERIFIER_nondet_int(); \\
    x.d = __VERIFIER_nondet_int(), x.e = __VERIFIER_nondet_int(), p->b++, p->e *= 3, y[1] = x; \\
    observe(x.a), observe(x.b), observe(x.c), observe(x.d), observe(p->e), observe(y[1].e); \\
    for (unsigned i = 0; i < sizeof x; i++) observe(((char *)&x)[i]);
void one(void) { FIELDS(struct bits) }
void two(void) { FIELDS(struct packed) }
struct s { char a; short b; int c; char d[3]; long long e; struct { char x; int y; } f[2]; };
void three(void) {
    struct s s, u;
    memset(&s, 0, sizeof s), memset(&u, 0x5a, sizeof u);
    s.a = 1, s.b = 2, s.c = 3, s.d[0] = 4, s.d[2] = 6, s.e = 7, s.f[1].x = 8, s.f[1].y = 9;
    memcpy(&u, &s, 7), memcpy((char *)&u + 3, (char *)&s + 2, 9), memset(&u.b, 1, 3);
    observe(u.b), observe(u.c), u.f[0] = s.f[1], observe(u.f[0].y);
    int k = __VERIFIER_nondet_uchar() & 1;
    u.f[k].y = 77, observe(u.f[0].y), memset(&u.f[k], 3, 8), observe(u.f[1].x);
    *(int *)&u = 0x01020304, observe(u.b);
    *(long long *)((char *)&u.d - 1) = 0x0102030405060708, observe(u.d[1]), observe(((char *)&u)[15]);
    int w[100];
    for (int i = 0; i < 100; i++) w[i] = i * 0x01020304;
    memmove((char *)w + 3, w, 396), observe(w[3]), observe(w[50]);
    memmove(w, (char *)w + 5, 392), observe(w[3]), observe(w[97]);
}
union w { long long l; int i[2]; struct { short a; char b; int c; } s; char t[9]; };
static union w up(union w x, int i) { x.i[i]++; return x; }
void four(void) {
    int n = __VERIFIER_nondet_int();
    union w w, x[2];
    memset(&w, 0, sizeof w);
    w.l = (long long)n * n, w = up(w, n & 1), observe(w.l), observe(w.s.a), observe(w.s.b), observe(w.s.c);
    w.s.c = 4, observe(w.l), x[1] = w, x[0] = x[1], x[0].i[1] = -1, observe(x[0].l), observe(x[0].t[8]);
}
typedef unsigned _BitInt(24) u24;
struct odd { u24 a[3]; _BitInt(20) b; _Bool c; } odd = {{1, 0xffffff, 3}, -5, 1};
void five(void) {
    struct odd s = {{1, 2, 0xabcdef}, -7, 1}, u;
    s.a[1] = __VERIFIER_nondet_int(), u = s;
    u24 *p = u.a;
    p[0] += p[2], u.b = -u.b * 1000, u.c ^= 1;
    observe((unsigned)u.a[0]), observe((unsigned)u.a[1]), observe((int)u.b), observe(u.c + sizeof s);
    observe((int)odd.b + (unsigned)odd.a[1]), observe(((unsigned char *)&s)[8]);
}
int main(void) {
    switch (__VERIFIER_nondet_uint()) {
    case 0: one(); break;
    case 1: two(); break;
    case 2: three(); break;
    case 3: four(); break;
    case 4: five(); break;
    }
}
"""


@pytest.mark.parametrize("model", ["LP64", "ILP32"])
@pytest.mark.parametrize(
    ("text", "programs"),
    [
        pytest.param(VARIABLE_LENGTHS, 5, id="variable-length arrays"),
        pytest.param(OBJECTS, 4, id="objects without names, padding, alignment"),
        pytest.param(EXACT_WIDTHS, 2, id="_BitInt"),
        pytest.param(MEMORY, 5, id="bit-fields, packed records, unions, parts of objects"),
        pytest.param(POINTERS, 2, id="pointers to functions without bodies"),
    ],
)
def test_constructs_do_the_same_compiled(text: str, programs: int, model: str) -> None:
    text = PREAMBLE + DECLARATIONS + text
    found = compare_text(text, programs, seed=1, tables=3, model=model)
    assert [c for c in found if c.result is not Result.AGREED] == []
    assert all(c.ours.observed for c in found)

"""Library functions and builtins: a program for each group behaves alike in our interpreter and compiled."""

from __future__ import annotations

import pytest
from tests.laws.c_differential import Result, compare_text
from tests.laws.c_programs import NARROW, PREAMBLE

DECLARATIONS = "".join(f"{t} __VERIFIER_nondet_{n}(void);\n" for t, n in NARROW.items())

STRINGS = """
typedef __SIZE_TYPE__ size_t;
char *strstr(const char *, const char *), *strpbrk(const char *, const char *),
    *strchrnul(const char *, int);
char *strchr(const char *, int), *strrchr(const char *, int), *strsep(char **, const char *);
char *strtok(char *, const char *), *strtok_r(char *, const char *, char **),
    *strncat(char *, const char *, size_t);
char *strcat(char *, const char *), *strncpy(char *, const char *, size_t), *strcpy(char *, const char *);
char *stpcpy(char *, const char *);
void *memchr(const void *, int, size_t), *memmove(void *, const void *, size_t);
size_t strspn(const char *, const char *), strcspn(const char *, const char *), strlen(const char *);
size_t strnlen(const char *, size_t);
int strcmp(const char *, const char *), strncmp(const char *, const char *, size_t);
int memcmp(const void *, const void *, size_t);
static void shown(const char *base, const char *found) { observe(found ? found - base : 99); }
static void filled(char *to) {
    for (int i = 0; i < 6; i++) to[i] = "ab,;"[__VERIFIER_nondet_uchar() % 4];
    to[6] = to[7] = 0;
}
void one(void) {
    char text[8], part[3] = {0};
    filled(text);
    part[0] = "ab,"[__VERIFIER_nondet_uchar() % 3], part[1] = "ab"[__VERIFIER_nondet_uchar() & 1];
    shown(text, strstr(text, part)), shown(text, strstr(text, "")), shown(text, strstr("", part));
    shown(text, strpbrk(text, ",;")), shown(text, strpbrk(text, "")), shown(text, strchrnul(text, ';'));
    shown(text, strchr(text, 'b')), shown(text, strrchr(text, 'b')), shown(text, memchr(text, ',', 3));
    shown(text, strchr(text, 0)), observe(strspn(text, "ab")), observe(strcspn(text, ";,"));
}
void two(void) {
    char text[8], again[8], *kept, *rest = again, *cut;
    filled(text), memcpy(again, text, 8);
    for (cut = strtok(text, ",;"); cut; cut = strtok(0, ",;")) shown(text, cut), observe(strlen(cut));
    for (int i = 0; i < 8; i++) observe(text[i]);
    memcpy(text, again, 8);
    for (cut = strtok_r(text, ";", &kept); cut; cut = strtok_r(0, ",", &kept)) shown(text, cut);
    while ((cut = strsep(&rest, ",;"))) shown(again, cut), observe(strlen(cut));
    observe(rest == 0);
}
void three(void) {
    char text[16], other[8], end[16];
    filled(text), filled(other);
    observe((strcmp(text, other) > 0) - (strcmp(text, other) < 0));
    observe((strncmp(text, other, 2) > 0) - (strncmp(text, other, 2) < 0));
    observe((memcmp(text, other, 3) > 0) - (memcmp(text, other, 3) < 0));
    strncat(text, other, 2), observe(strlen(text)), strcat(text, "!"), strncpy(end, text, 9),
    strcpy(other, "xy");
    for (int i = 0; i < 9; i++) observe(end[i]);
    memmove(text + 1, text, 4), observe(stpcpy(end, other) - end), observe(strnlen(text, 3)),
    observe(strlen(end));
    for (int i = 0; i < 8; i++) observe(text[i]);
}
int main(void) { switch (__VERIFIER_nondet_uint()) {
    case 0: one(); break; case 1: two(); break; case 2: three(); break; } }
"""
MEMORY = """
typedef __SIZE_TYPE__ size_t;
void *memmove(void *, const void *, size_t), *mempcpy(void *, const void *, size_t);
void bcopy(const void *, void *, size_t), bzero(void *, size_t);
static char memory[16], other[16];
static void shown(const void *result) {
    observe((const char *)result - memory);
    for (int i = 0; i < 16; i++) observe(memory[i]);
}
void one(void) {
    for (int i = 0; i < 16; i++) memory[i] = i;
    unsigned to = __VERIFIER_nondet_uchar() % 8, from = __VERIFIER_nondet_uchar() % 8;
    size_t count = __VERIFIER_nondet_uchar() % 9;
    shown(memmove(memory + to, memory + from, count));
    bcopy(memory + from, memory + to, count), shown(memory);
    observe((char *)mempcpy(other, memory + to, count) - other);
    shown(memcpy(memory + 1, other, count));
    shown(memset(memory + to, __VERIFIER_nondet_int(), count));
    bzero(memory + from, count), shown(memory);
}
void two(void) {
    void *(*copy)(void *, const void *, size_t) = __VERIFIER_nondet_int() > 0 ? memmove : mempcpy;
    void *(*fill)(void *, int, size_t) = memset;
    void (*reversed)(const void *, void *, size_t) = bcopy;
    for (int i = 0; i < 16; i++) memory[i] = i;
    size_t count = __VERIFIER_nondet_uchar() % 9;
    shown(copy(memory, memory + 8, count)), shown(fill(memory + 2, 260, count));
    reversed(memory, memory + 3, count), shown(memory);
}
int main(void) { switch (__VERIFIER_nondet_uint()) { case 0: one(); break; case 1: two(); break; } }
"""
WIDE = """
typedef __SIZE_TYPE__ size_t;
typedef __WCHAR_TYPE__ wide;
size_t wcsspn(const wide *, const wide *), wcscspn(const wide *, const wide *);
wide *wcspbrk(const wide *, const wide *);
int main(void) {
    wide text[5] = {0}, set[3] = {0}, *first;
    for (int i = 0; i < 4; i++) text[i] = L"ab,;"[__VERIFIER_nondet_uchar() % 4];
    for (int i = 0; i < 2; i++) set[i] = L"ab,"[__VERIFIER_nondet_uchar() % 4];
    observe(wcsspn(text, set)), observe(wcscspn(text, set));
    observe(wcsspn(text, L"")), observe(wcscspn(text, L""));
    first = wcspbrk(text, set);
    observe(first ? first - text : 99), observe(wcspbrk(text, L"") == 0), observe(wcspbrk(L"", set) == 0);
}
"""
CHARACTERS = """
const unsigned short **__ctype_b_loc(void);
const int **__ctype_tolower_loc(void);
const int **__ctype_toupper_loc(void);
int isalpha(int), ispunct(int), isspace(int), toupper(int), isxdigit(int), iscntrl(int);
void one(void) {
    for (int i = 0; i < 12; i++) {
        int c = __VERIFIER_nondet_int() % 128;
        observe((*__ctype_b_loc())[c]), observe((*__ctype_tolower_loc())[c]),
        observe((*__ctype_toupper_loc())[c]);
    }
    for (int c = 0; c < 256; c++) observe((*__ctype_b_loc())[c]);
}
void two(void) {
    for (int i = 0; i < 12; i++) {
        int c = __VERIFIER_nondet_uchar();
        observe(!!isalpha(c) | !!ispunct(c) << 1 | !!isspace(c) << 2);
        observe(!!isxdigit(c) | !!iscntrl(c) << 1);
        observe(toupper(c));
    }
}
int main(void) { switch (__VERIFIER_nondet_uint()) { case 0: one(); break; case 1: two(); break; } }
"""
NUMBERS = """
typedef struct { int quot, rem; } div_t;
typedef struct { long quot, rem; } ldiv_t;
typedef struct { long long quot, rem; } lldiv_t;
div_t div(int, int);
ldiv_t ldiv(long, long);
lldiv_t lldiv(long long, long long);
int abs(int);
long labs(long);
long long llabs(long long);
void one(void) {
    unsigned n = __VERIFIER_nondet_uint();
    unsigned long long w = __VERIFIER_nondet_ulonglong();
    observe(__builtin_popcount(n)), observe(__builtin_parityll(w)), observe(__builtin_ffs(n)),
    observe(__builtin_ffsll(w));
    observe(__builtin_clz(n | 1)), observe(__builtin_ctzll(w | 1ull << 63)),
    observe(__builtin_clrsb((int)n));
    observe(__builtin_clrsbll((long long)w)), observe(__builtin_bswap32(n)), observe(__builtin_bswap64(w));
    observe(__builtin_clzg(n, 77)), observe(__builtin_ctzg((unsigned short)w, -3)),
    observe(__builtin_popcountg(w));
    observe(__builtin_clzg((unsigned char)n, 8)), observe(__builtin_bitreverse8(n)),
    observe(__builtin_bitreverse32(n));
    observe(__builtin_bitreverse64(w)), observe(__builtin_rotateleft8(n, w)),
    observe(__builtin_rotateright16(n, w));
    observe(__builtin_rotateleft32(n, n)), observe(__builtin_rotateright64(w, n)),
    observe(__builtin_rotateleft64(w, 64));
}
void two(void) {
    int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_short() | 1;
    long long c = __VERIFIER_nondet_longlong() >> 1;
    div_t d = div(a >> 1, b);
    ldiv_t l = ldiv(a >> 1, b);
    lldiv_t w = lldiv(c, b);
    observe(d.quot), observe(d.rem), observe(l.quot), observe(l.rem), observe(w.quot), observe(w.rem);
    observe(abs(a >> 1)), observe(labs(a >> 1)), observe(llabs(c));
    int r = 0;
    observe(__builtin_add_overflow(a, b, &r)), observe(r), observe(__builtin_mul_overflow(a, b, &r)),
    observe(r);
    observe(__builtin_sub_overflow(a, c, &r)), observe(r);
}
int main(void) { switch (__VERIFIER_nondet_uint()) { case 0: one(); break; case 1: two(); break; } }
"""
VARIADIC = """
typedef __builtin_va_list va_list;
#define va_start(list, last) __builtin_va_start(list, last)
#define va_arg(list, type) __builtin_va_arg(list, type)
#define va_copy(to, list) __builtin_va_copy(to, list)
#define va_end(list) __builtin_va_end(list)
struct pair { long a; char b; };
static long long next(va_list *list) { return va_arg(*list, long long); }
static int inner(int n, va_list list) { int t = 0; while (n--) t = 10 * t + va_arg(list, int); return t; }
static long long all(const char *kinds, ...) {
    va_list list, again;
    va_start(list, kinds);
    va_copy(again, list);
    long long total = 0;
    for (; *kinds; kinds++) switch (*kinds) {
        case 'i': total = 7 * total + va_arg(list, int); break;
        case 'u': total = 7 * total + va_arg(list, unsigned); break;
        case 'w': total = 7 * total + next(&list); break;
        case 's': total = 7 * total + *va_arg(list, const char *); break;
        case 'p': { struct pair p = va_arg(list, struct pair); total = 7 * total + p.a + p.b; } break;
    }
    observe(va_arg(again, int));
    va_end(again), va_end(list);
    return total;
}
static int sum(int n, ...) { va_list list; va_start(list, n); int t = inner(n, list); va_end(list);
    return t; }
static void none(int n, ...) { observe(n); }
void one(void) {
    struct pair p = {__VERIFIER_nondet_int(), 3};
    signed char c = __VERIFIER_nondet_char();
    observe(all("iuwspi", c, __VERIFIER_nondet_uint(), __VERIFIER_nondet_longlong(), "xyz", p, (short)-2));
    observe(all("iwiw", 1, -5ll, 2, 1ll << 40)), observe(sum(3, 1, 2, 3)), observe(sum(0));
}
void two(void) {
    int (*f)(int, ...) = __VERIFIER_nondet_int() > 0 ? sum : sum;
    void (*g)(int, ...) = none;
    observe(f(2, 4, 5)), g(8, 9), none(4);
}
int main(void) { switch (__VERIFIER_nondet_uint()) { case 0: one(); break; case 1: two(); break; } }
"""
ATOMIC = """
_Atomic int plain;
_Atomic(unsigned char) small = 250;
static int word = 3;
static unsigned short half;
void one(void) {
    int n = __VERIFIER_nondet_int(), expected = n, other = 1;
    observe(__atomic_exchange_n(&word, n, 5)), observe(__atomic_load_n(&word, 0)),
    observe(__atomic_fetch_add(&word, 9, 5));
    observe(__atomic_sub_fetch(&word, 9, 5)),
    observe(__atomic_compare_exchange_n(&word, &expected, 8, 0, 5, 5));
    observe(word), observe(__atomic_compare_exchange_n(&word, &expected, 9, 0, 5, 5)), observe(expected);
    __atomic_store_n(&half, n, 5), observe(__atomic_fetch_nand(&half, 255, 5)), observe(half);
    observe(__atomic_xor_fetch(&half, 3, 5)), __atomic_store(&word, &other, 5),
    __atomic_load(&word, &n, 5), observe(n);
    other = 6, __atomic_exchange(&word, &other, &n, 5), observe(n), observe(word);
    observe(__atomic_compare_exchange(&word, &other, &expected, 0, 5, 5)), observe(word);
    _Bool flag = 0;
    observe(__atomic_test_and_set(&flag, 5)), observe(__atomic_test_and_set(&flag, 5)),
    __atomic_clear(&flag, 5), observe(flag);
}
void two(void) {
    int n = __VERIFIER_nondet_int();
    observe(__sync_fetch_and_add(&word, n)), observe(__sync_or_and_fetch(&word, 4)),
    observe(__sync_bool_compare_and_swap(&word, 7, 1));
    observe(__sync_val_compare_and_swap(&word, word, 5)), observe(word),
    observe(__sync_lock_test_and_set(&word, 2));
    __sync_lock_release(&word), observe(word), __sync_synchronize(), __atomic_thread_fence(5);
    plain = n, plain++, plain += 4, observe(plain), observe(plain-- + 1), small += 9, observe(small),
    observe(++small);
    observe(__c11_atomic_fetch_or(&plain, 64, 5)), observe(__c11_atomic_exchange(&plain, 3, 5));
    int expected = 3;
    observe(__c11_atomic_compare_exchange_strong(&plain, &expected, n, 5, 5)),
    observe(__c11_atomic_load(&plain, 5));
    __c11_atomic_store(&plain, 12, 5), observe(plain);
    __builtin_nontemporal_store(n, &word), observe(__builtin_nontemporal_load(&word));
}
int main(void) { switch (__VERIFIER_nondet_uint()) { case 0: one(); break; case 1: two(); break; } }
"""
ADDRESSES = """
typedef __UINTPTR_TYPE__ word;
struct node { int value; word next; };
static word kept;
static word moved(void *p, int n) { word w = (word)p; return w + n * sizeof(int); }
void one(void) {
    int a[4] = {1, 2, 3, 4}, n = __VERIFIER_nondet_uchar() % 4;
    *(int *)moved(a, n) += 10;
    for (int i = 0; i < 4; i++) observe(a[i]);
    kept = (word)&a[1];
    observe(*(int *)kept), observe(*(int *)(kept & ~(word)0)), observe(((int *)(kept ^ 0))[1]);
    union { word bits; int *pointer; } u = {.pointer = a};
    u.bits += sizeof(int), *u.pointer = 9, observe(a[1]), observe(a[0]);
}
void two(void) {
    struct node last = {3, 0}, first = {__VERIFIER_nondet_int(), (word)&last};
    long total = 0;
    for (struct node *p = &first; p; p = (struct node *)p->next) total = 3 * total + p->value;
    observe(total);
    void *error = (void *)(long)-(__VERIFIER_nondet_uchar() + 1);
    observe((word)error > (word)-4096), observe((long)error), observe((int *)(word)7 == (int *)7);
}
int main(void) { switch (__VERIFIER_nondet_uint()) { case 0: one(); break; case 1: two(); break; } }
"""


@pytest.mark.parametrize("model", ["LP64", "ILP32"])
@pytest.mark.parametrize(
    ("text", "programs"),
    [
        pytest.param(STRINGS, 3, id="strings"),
        pytest.param(MEMORY, 2, id="memory"),
        pytest.param(WIDE, 1, id="wide strings"),
        pytest.param(CHARACTERS, 2, id="characters"),
        pytest.param(NUMBERS, 2, id="numbers and bits"),
        pytest.param(VARIADIC, 2, id="variadic functions"),
        pytest.param(ATOMIC, 2, id="atomic operations"),
        pytest.param(ADDRESSES, 2, id="pointers as integers"),
    ],
)
def test_the_library_does_the_same_compiled(text: str, programs: int, model: str) -> None:
    found = compare_text(PREAMBLE + DECLARATIONS + text, programs, seed=1, tables=4, model=model)
    assert [c for c in found if c.result is not Result.AGREED] == []
    assert all(c.ours.observed for c in found)

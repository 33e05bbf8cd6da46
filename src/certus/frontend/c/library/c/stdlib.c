/* Numbers in texts, sorting and searching: <stdlib.h>, <inttypes.h>, and `errno`. */

#include "certus.h"

int __certus_errno; /* zero at the start; functions that are not modelled exactly may write it */
int *__errno_location(void) { return &__certus_errno; }

/* --------------------------------------------------------------------------------- numbers in texts */

static inline int digit(char c)
{
    return DIGIT(c) ? c - '0' : LOWER(c) ? c - 'a' + 10 : UPPER(c) ? c - 'A' + 10 : 36;
}

enum notation { OLD, C23 }; /* since C23 "0b" is a prefix of binary numbers */

/* The number at the start of a text, modulo 2^64; the nearest one of the result's type, which has `size` bytes, and
 * errno, if it is out of range. An unsigned type also has the negatives of its numbers. As in glibc, a base that does
 * not exist is an error. */
static unsigned long long number(const char *text, char **end, int base, enum notation notation, size_t size,
                                 _Bool is_signed)
{
    unsigned long long most = ~0ull >> (64 - 8 * size) >> is_signed, least = most + is_signed;
    if (base < 0 || base == 1 || base > 36) {
        errno = EINVAL;
        return 0;
    }
    const char *at = text;
    while (SPACE(*at)) at++;
    _Bool negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if ((base == 0 || base == 16) && at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && digit(at[2]) < 16) {
        base = 16;
        at += 2;
    } else if (notation == C23 && (base == 0 || base == 2) && at[0] == '0' && (at[1] == 'b' || at[1] == 'B') &&
               digit(at[2]) < 2) {
        base = 2;
        at += 2;
    } else if (base == 0) {
        base = at[0] == '0' ? 8 : 10;
    }
    const char *first = at;
    unsigned long long limit = negative ? least : most, before_last = limit / (unsigned)base, value = 0;
    int last = (int)(limit % (unsigned)base);
    _Bool exceeded = 0;
    for (int next = digit(*at); next < base; next = digit(*++at)) {
        exceeded = exceeded || value > before_last || (value == before_last && next > last);
        value = value * (unsigned)base + (unsigned)next;
    }
    if (end) *end = (char *)(at == first ? text : at);
    if (!exceeded) return negative ? -value : value;
    errno = ERANGE;
    return negative && is_signed ? -least : most;
}

#define NUMBER(name, type, notation)                                                                                  \
    type name(const char *text, char **end, int base)                                                                 \
    {                                                                                                                 \
        return (type)number(text, end, base, notation, sizeof(type), (type)-1 < 0);                                   \
    }

NUMBER(strtol, long, OLD)
NUMBER(strtoll, long long, OLD)
NUMBER(strtoul, unsigned long, OLD)
NUMBER(strtoull, unsigned long long, OLD)
NUMBER(__isoc23_strtol, long, C23)
NUMBER(__isoc23_strtoll, long long, C23)
NUMBER(__isoc23_strtoul, unsigned long, C23)
NUMBER(__isoc23_strtoull, unsigned long long, C23)

long __strtol_internal(const char *text, char **end, int base, int group) { return strtol(text, end, base); }
unsigned long __strtoul_internal(const char *text, char **end, int base, int group) { return strtoul(text, end, base); }

int atoi(const char *text) { return (int)strtol(text, 0, 10); }
long atol(const char *text) { return strtol(text, 0, 10); }
long long atoll(const char *text) { return strtoll(text, 0, 10); }

/* ---------------------------------------------------------------------------- sorting and searching */

typedef int comparison(const void *, const void *);

/* `qsort` by insertion. Which of two equal elements comes first is open, and each order of equal elements is a result.
 * C does not say which elements are compared, how often, and in which order: this is a model for comparisons that only
 * look at the elements (`__certus_qsort_any` is one for others). The variants move elements of 1, 2, 4 and 8 bytes. */
#define SORT(suffix, type)                                                                                            \
    static void swap##suffix(type *a, type *b, size_t count)                                                          \
    {                                                                                                                 \
        for (size_t i = 0; i < count; i++) {                                                                          \
            type kept = a[i];                                                                                         \
            a[i] = b[i];                                                                                              \
            b[i] = kept;                                                                                              \
        }                                                                                                             \
    }                                                                                                                 \
    void __certus_qsort##suffix(type *base, size_t number, size_t size, comparison *compare)                          \
    {                                                                                                                 \
        size_t width = size / sizeof(type);                                                                           \
        for (size_t sorted = 1; sorted < number; sorted++)                                                            \
            for (size_t at = sorted; at > 0; at--) {                                                                  \
                type *before = base + (at - 1) * width, *here = base + at * width;                                    \
                int order = compare(before, here);                                                                    \
                if (order < 0 || (order == 0 && !__certus_unspecified_int())) break;                                  \
                swap##suffix(before, here, width);                                                                    \
            }                                                                                                         \
    }                                                                                                                 \
    void __certus_qsort_any##suffix(type *base, size_t number, size_t size, comparison *compare)                      \
    {                                                                                                                 \
        size_t width = size / sizeof(type);                                                                           \
        while (number > 0 && __certus_unknown_int()) {                                                                \
            type *one = base + any_below(number) * width, *other = base + any_below(number) * width;                  \
            compare(one, other);                                                                                      \
            if (one != other) swap##suffix(one, other, width);                                                        \
        }                                                                                                             \
    }

static inline size_t any_below(size_t limit)
{
    size_t index = (size_t)__certus_unknown_word();
    __certus_assume(index < limit);
    return index;
}

SORT(1, byte)
SORT(2, unsigned short)
SORT(4, unsigned)
SORT(8, unsigned long long)

void qsort(void *base, size_t number, size_t size, comparison *compare) { __certus_qsort1(base, number, size, compare); }

/* Elements that are less than the key come first, then equal ones, then greater ones; any equal one is the result. If
 * they do not, the behaviour is undefined: the result is not known. Comparisons must not write anything. */
void *bsearch(const void *key, const void *base, size_t number, size_t size, comparison *compare)
{
    const byte *found = 0;
    int before = 1;
    for (size_t i = 0; i < number; i++) {
        const byte *element = (const byte *)base + i * size;
        int result = compare(key, element), order = result < 0 ? -1 : result > 0;
        if (order > before) found = __certus_unknown_int() ? (const byte *)base + any_below(number) * size : 0;
        else if (order == 0 && (!found || __certus_unspecified_int())) found = element;
        before = order;
    }
    return (void *)found;
}

void *__certus_bsearch_any(const void *key, const void *base, size_t number, size_t size, comparison *compare)
{
    while (number > 0 && __certus_unknown_int()) compare(key, (const byte *)base + any_below(number) * size);
    return number > 0 && __certus_unknown_int() ? (byte *)base + any_below(number) * size : 0;
}

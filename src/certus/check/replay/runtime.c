/* The library functions that Certus models, for programs that run without a C library. All of them are weak:
 * definitions in the program take precedence. start.c contains the start and the end of the program. */

typedef __SIZE_TYPE__ size_t;
typedef unsigned char byte;

#define WEAK __attribute__((weak))

enum { NO_MEMORY = 17, DIVIDED_BY_ZERO = 18, OVERFLOWED = 40 };

__attribute__((noreturn)) void certus_finish(int code);
void *certus_map(size_t size);

/* -------------------------------------------------------------------------------------- memory */

#ifndef CERTUS_SANITIZED /* sanitizer.c has these functions, with checks */

WEAK void *memcpy(void *to, const void *from, size_t n)
{
    byte *t = to; const byte *f = from;
    while (n--) *t++ = *f++;
    return to;
}

WEAK void *memmove(void *to, const void *from, size_t n)
{
    byte *t = to; const byte *f = from;
    if (t < f) while (n--) *t++ = *f++;
    else while (n--) t[n] = f[n];
    return to;
}

WEAK void *mempcpy(void *to, const void *from, size_t n) { return (byte *)memcpy(to, from, n) + n; }

WEAK void *memset(void *to, int value, size_t n)
{
    byte *t = to;
    while (n--) *t++ = (byte)value;
    return to;
}

WEAK void bzero(void *to, size_t n) { memset(to, 0, n); }
WEAK void __bzero(void *to, size_t n) { memset(to, 0, n); }

WEAK int memcmp(const void *a, const void *b, size_t n)
{
    const byte *p = a, *q = b;
    for (; n--; p++, q++) if (*p != *q) return *p < *q ? -1 : 1;
    return 0;
}

WEAK int bcmp(const void *a, const void *b, size_t n) { return memcmp(a, b, n); }
WEAK void bcopy(const void *from, void *to, size_t n) { memmove(to, from, n); }

static byte *room, *room_end;

/* The size of each object precedes it, in 16 bytes. Memory is never reused. */
WEAK void *malloc(size_t size)
{
    if (fails()) return 0;
    size_t whole = size + 32 & ~(size_t)15;
    if (whole < size) certus_finish(NO_MEMORY);
    if (whole > (size_t)(room_end - room)) {
        size_t region = whole > (1 << 20) ? whole : 1 << 20;
        room = certus_map(region);
        if (!room) certus_finish(NO_MEMORY);
        room_end = room + region;
    }
    byte *object = room + 16;
    *(size_t *)room = size;
    room += whole;
    set_contents(object, size);
    return object;
}

WEAK void *calloc(size_t count, size_t size)
{
    if (size && count > (size_t)-1 / size) certus_finish(NO_MEMORY);
    return malloc(count * size);
}

WEAK void *realloc(void *old, size_t size)
{
    byte *object = malloc(size);
    if (old && object) {
        size_t before = *(size_t *)((byte *)old - 16);
        memcpy(object, old, before < size ? before : size);
    }
    return object;
}

WEAK void *aligned_alloc(size_t align, size_t size)
{
    byte *block = malloc(size + 2 * align + 32), *at = (byte *)(((size_t)block + 16 + align) & -align);
    if (!block) return 0;
    *(size_t *)(at - 16) = size;
    return at;
}

WEAK void *memalign(size_t align, size_t size) { return aligned_alloc(align, size); }
WEAK int posix_memalign(void **to, size_t align, size_t size)
{
    void *object = aligned_alloc(align, size);
    if (object) *to = object;
    return object ? 0 : 12; /* ENOMEM */
}
WEAK void *valloc(size_t size) { return aligned_alloc(4096, size); }
WEAK void free(void *old) { (void)old; }
WEAK void cfree(void *old) { (void)old; }

#else

void *memcpy(void *to, const void *from, size_t n);
void *malloc(size_t size);

#endif

WEAK void *memchr(const void *in, int value, size_t n)
{
    const byte *p = in;
    for (; n--; p++) if (*p == (byte)value) return (void *)p;
    return 0;
}

/* -------------------------------------------------------------------------------------- strings */

WEAK size_t strlen(const char *s) { size_t n = 0; while (s[n]) n++; return n; }
WEAK size_t strnlen(const char *s, size_t most) { size_t n = 0; while (n < most && s[n]) n++; return n; }

WEAK char *stpcpy(char *to, const char *from) { while ((*to = *from)) to++, from++; return to; }
WEAK char *__stpcpy(char *to, const char *from) { return stpcpy(to, from); }
WEAK char *strcpy(char *to, const char *from) { stpcpy(to, from); return to; }
WEAK char *strcat(char *to, const char *from) { stpcpy(to + strlen(to), from); return to; }

WEAK char *strncpy(char *to, const char *from, size_t n)
{
    size_t i = 0;
    for (; i < n && from[i]; i++) to[i] = from[i];
    for (; i < n; i++) to[i] = 0;
    return to;
}

WEAK char *strncat(char *to, const char *from, size_t n)
{
    char *end = to + strlen(to);
    while (n-- && *from) *end++ = *from++;
    *end = 0;
    return to;
}

WEAK int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return (byte)*a < (byte)*b ? -1 : (byte)*a > (byte)*b;
}

WEAK int strncmp(const char *a, const char *b, size_t n)
{
    while (n && *a && *a == *b) a++, b++, n--;
    return !n ? 0 : (byte)*a < (byte)*b ? -1 : (byte)*a > (byte)*b;
}

WEAK char *strchr(const char *s, int c)
{
    for (;; s++) { if (*s == (char)c) return (char *)s; if (!*s) return 0; }
}

WEAK char *strrchr(const char *s, int c)
{
    const char *last = 0;
    for (;; s++) { if (*s == (char)c) last = s; if (!*s) return (char *)last; }
}

WEAK size_t strspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && strchr(set, s[n])) n++;
    return n;
}

WEAK size_t strcspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && !strchr(set, s[n])) n++;
    return n;
}

typedef __WCHAR_TYPE__ wchar_t;

WEAK wchar_t *wcspbrk(const wchar_t *s, const wchar_t *set)
{
    for (; *s; s++) for (const wchar_t *c = set; *c; c++) if (*c == *s) return (wchar_t *)s;
    return 0;
}

WEAK size_t wcscspn(const wchar_t *s, const wchar_t *set)
{
    const wchar_t *end = wcspbrk(s, set);
    size_t n = 0;
    while (end ? s + n != end : s[n] != 0) n++;
    return n;
}

WEAK size_t wcsspn(const wchar_t *s, const wchar_t *set)
{
    const wchar_t *at = s, *c = set;
    while (*at && *c) if (*c++ == *at) at++, c = set;
    return (size_t)(at - s);
}

WEAK char *strchrnul(const char *s, int c) { while (*s && *s != (char)c) s++; return (char *)s; }

WEAK char *strpbrk(const char *s, const char *set)
{
    s += strcspn(s, set);
    return *s ? (char *)s : 0;
}

WEAK char *strstr(const char *s, const char *part)
{
    for (;; s++) {
        size_t n = 0;
        while (part[n] && s[n] == part[n]) n++;
        if (!part[n]) return (char *)s;
        if (!s[n]) return 0;
    }
}

WEAK char *strsep(char **kept, const char *set)
{
    char *s = *kept, *end;
    if (!s) return 0;
    end = s + strcspn(s, set);
    *kept = *end ? end + 1 : 0;
    *end = 0;
    return s;
}

WEAK char *strtok_r(char *s, const char *set, char **kept)
{
    char *end;
    if (!s) s = *kept;
    if (!s) return 0;
    s += strspn(s, set);
    end = s + strcspn(s, set);
    *kept = *end ? end + 1 : end;
    if (s == end) return 0;
    *end = 0;
    return s;
}

WEAK char *__strtok_r(char *s, const char *set, char **kept) { return strtok_r(s, set, kept); }
WEAK char *strtok(char *s, const char *set) { static char *kept; return strtok_r(s, set, &kept); }
WEAK char *index(const char *s, int c) { return strchr(s, c); }
WEAK char *rindex(const char *s, int c) { return strrchr(s, c); }

WEAK char *strdup(const char *s)
{
    char *copy = malloc(strlen(s) + 1);
    return copy ? strcpy(copy, s) : 0;
}

WEAK char *__strdup(const char *s) { return strdup(s); }

WEAK char *strndup(const char *s, size_t most)
{
    size_t n = strnlen(s, most);
    char *copy = malloc(n + 1);
    if (!copy) return 0;
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

/* ------------------------------------------------------------------------ characters and numbers */

#ifdef CERTUS_OVERFLOW /* an error */
#define ABSOLUTE(x) (x < 0 && x == -x ? certus_finish(OVERFLOWED) : (void)0, x < 0 ? -x : x)
#else
#define ABSOLUTE(x) (x < 0 ? -x : x)
#endif
WEAK int abs(int x) { return ABSOLUTE(x); }
WEAK long labs(long x) { return ABSOLUTE(x); }
WEAK long long llabs(long long x) { return ABSOLUTE(x); }

WEAK long long imaxabs(long long x) { return llabs(x); }

WEAK int ffsll(long long x)
{
    for (int i = 0; i < 64; i++) if ((unsigned long long)x >> i & 1) return i + 1;
    return 0;
}
WEAK int ffsl(long x) { return ffsll(x); }
WEAK int ffs(int x) { return ffsll(x); }

/* Where accesses are checked, an argument that is no character is an invalid read, as in glibc, which looks it up. */
#ifdef CERTUS_SANITIZED
static const volatile char characters[384];
#define IS(condition) ((characters + 128)[c] | (condition))
#else
#define IS(condition) (condition)
#endif
WEAK int isdigit(int c) { return IS(c >= '0' && c <= '9'); }
WEAK int islower(int c) { return IS(c >= 'a' && c <= 'z'); }
WEAK int isupper(int c) { return IS(c >= 'A' && c <= 'Z'); }
WEAK int isalpha(int c) { return IS(islower(c) || isupper(c)); }
WEAK int isalnum(int c) { return IS(isalpha(c) || isdigit(c)); }
WEAK int isxdigit(int c) { return IS(isdigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')); }
WEAK int isspace(int c) { return IS(c == ' ' || (c >= 9 && c <= 13)); }
WEAK int isblank(int c) { return IS(c == ' ' || c == 9); }
WEAK int isprint(int c) { return IS(c >= 32 && c < 127); }
WEAK int isgraph(int c) { return IS(c > 32 && c < 127); }
WEAK int iscntrl(int c) { return IS((c >= 0 && c < 32) || c == 127); }
WEAK int ispunct(int c) { return IS(isgraph(c) && !isalnum(c)); }
WEAK int tolower(int c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
WEAK int toupper(int c) { return c >= 'a' && c <= 'z' ? c - 32 : c; }
WEAK int toascii(int c) { return c & 127; }

static unsigned short classes[384];
static int lower[384], upper[384];

static void fill_tables(void)
{
    if (upper[129]) return;
    for (int i = 0; i < 384; i++) {
        int c = i - 128;
        lower[i] = c < -1 ? c + 256 : tolower(c);
        upper[i] = c < -1 ? c + 256 : toupper(c);
        if (c >= 0)
            classes[i] = isblank(c) | iscntrl(c) << 1 | ispunct(c) << 2 | isalnum(c) << 3 | isupper(c) << 8
                | islower(c) << 9 | isalpha(c) << 10 | isdigit(c) << 11 | isxdigit(c) << 12 | isspace(c) << 13
                | isprint(c) << 14 | isgraph(c) << 15;
    }
}

WEAK const unsigned short **__ctype_b_loc(void)
{
    static const unsigned short *at = classes + 128;
    fill_tables();
    return &at;
}

WEAK const int **__ctype_tolower_loc(void) { static const int *at = lower + 128; fill_tables(); return &at; }
WEAK const int **__ctype_toupper_loc(void) { static const int *at = upper + 128; fill_tables(); return &at; }

typedef struct { int quot, rem; } div_t;
typedef struct { long quot, rem; } ldiv_t;
typedef struct { long long quot, rem; } lldiv_t;

/* End the program where a quotient does not exist; `least` is the least number of the type. */
static void check_quotient(long long a, long long b, long long least)
{
    if (!b) certus_finish(DIVIDED_BY_ZERO);
    if (b == -1 && a == least) certus_finish(OVERFLOWED);
}

#define LEAST(type) (-(type)((unsigned type)-1 >> 1) - 1)
WEAK div_t div(int a, int b) { check_quotient(a, b, LEAST(int)); div_t d = {a / b, a % b}; return d; }
WEAK ldiv_t ldiv(long a, long b) { check_quotient(a, b, LEAST(long)); ldiv_t d = {a / b, a % b}; return d; }
WEAK lldiv_t lldiv(long long a, long long b)
{
    check_quotient(a, b, LEAST(long long));
    lldiv_t d = {a / b, a % b};
    return d;
}
#ifdef __x86_64__
WEAK ldiv_t imaxdiv(long a, long b) { return ldiv(a, b); }
#else
WEAK lldiv_t imaxdiv(long long a, long long b) { return lldiv(a, b); }
#endif

static int error_number;
WEAK int *__errno_location(void) { return &error_number; }

#ifndef CERTUS_SANITIZED /* formats.c has these functions; they read the strings that they would write */
/* Output is discarded. */
WEAK int printf(void) { return 0; }
WEAK int fprintf(void) { return 0; }
WEAK int vprintf(void) { return 0; }
WEAK int vfprintf(void) { return 0; }
WEAK int puts(void) { return 0; }
WEAK int fputs(void) { return 0; }
WEAK int putchar(void) { return 0; }
WEAK int fputc(void) { return 0; }
WEAK int putc(void) { return 0; }
WEAK int perror(void) { return 0; }
#endif
WEAK int fflush(void) { return 0; }
static char streams[3];
WEAK void *stdin = streams, *stdout = streams + 1, *stderr = streams + 2;

/* ------------------------------------- operations for which compilers call functions */

WEAK int __popcountdi2(unsigned long long x)
{
    int n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}

#ifdef __x86_64__
typedef unsigned __int128 wide;
typedef __int128 wide_signed;
#define DIVISION(name) __##name##ti3
#else
typedef unsigned long long wide;
typedef long long wide_signed;
#define DIVISION(name) __##name##di3
#endif

static wide divide(wide a, wide b, wide *rest)
{
    wide quotient = 0, left = 0;
    if (!b) certus_finish(DIVIDED_BY_ZERO);
    for (int i = 8 * (int)sizeof(wide) - 1; i >= 0; i--) {
        int over = (int)(left >> (8 * sizeof(wide) - 1));
        left = left << 1 | (a >> i & 1);
        if (over || left >= b) left -= b, quotient |= (wide)1 << i;
    }
    *rest = left;
    return quotient;
}

static wide size_of(wide_signed x) { return x < 0 ? -(wide)x : (wide)x; }

WEAK wide DIVISION(udiv)(wide a, wide b) { wide rest; return divide(a, b, &rest); }
WEAK wide DIVISION(umod)(wide a, wide b) { wide rest; divide(a, b, &rest); return rest; }

WEAK wide_signed DIVISION(div)(wide_signed a, wide_signed b)
{
    wide rest, quotient = divide(size_of(a), size_of(b), &rest);
    return (wide_signed)((a < 0) != (b < 0) ? -quotient : quotient);
}

WEAK wide_signed DIVISION(mod)(wide_signed a, wide_signed b)
{
    wide rest;
    divide(size_of(a), size_of(b), &rest);
    return (wide_signed)(a < 0 ? -rest : rest);
}

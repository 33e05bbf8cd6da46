/* Start, end and observations of a generated program that runs without a C library. Inputs come from
 * standard input, 8 bytes each; observations go to standard output, 16 bytes each. */

typedef __SIZE_TYPE__ size_t;

enum { RETURNED = 10, ERROR, ASSUMPTION, EXHAUSTED };

#ifdef __x86_64__
enum { READ = 0, WRITE = 1, EXIT = 231 };
static long call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %rsp\n call start\n hlt\n");
#else
enum { READ = 3, WRITE = 4, EXIT = 252 };
static long call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}
__asm__(".globl _start\n_start: xor %ebp, %ebp\n and $-16, %esp\n call start\n hlt\n");
#endif

static unsigned long long observed[8192];
static unsigned used;

static void flush(void)
{
    char *text = (char *)observed;
    for (long done = 0, size = used * sizeof *observed; done < size;) {
        long written = call(WRITE, 1, (long)(text + done), size - done);
        if (written <= 0) break;
        done += written;
    }
    used = 0;
}

__attribute__((noreturn)) static void finish(int code)
{
    flush();
    for (;;) call(EXIT, code, 0, 0);
}

void observe(unsigned number, unsigned long long value)
{
    if (used == sizeof observed / sizeof *observed) flush();
    observed[used++] = number;
    observed[used++] = value;
}

static unsigned long long next(void)
{
    unsigned long long value;
    if (call(READ, 0, (long)&value, sizeof value) != sizeof value) finish(EXHAUSTED);
    return value;
}

_Bool __VERIFIER_nondet_bool(void) { return next() != 0; }
char __VERIFIER_nondet_char(void) { return next(); }
signed char __VERIFIER_nondet_schar(void) { return next(); }
unsigned char __VERIFIER_nondet_uchar(void) { return next(); }
short __VERIFIER_nondet_short(void) { return next(); }
unsigned short __VERIFIER_nondet_ushort(void) { return next(); }
int __VERIFIER_nondet_int(void) { return next(); }
unsigned int __VERIFIER_nondet_uint(void) { return next(); }
long __VERIFIER_nondet_long(void) { return next(); }
unsigned long __VERIFIER_nondet_ulong(void) { return next(); }
long long __VERIFIER_nondet_longlong(void) { return next(); }
unsigned long long __VERIFIER_nondet_ulonglong(void) { return next(); }

void reach_error(void) { finish(ERROR); }
void __VERIFIER_assume(int holds) { if (!holds) finish(ASSUMPTION); }

void *memcpy(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    if ((char *)to < (const char *)from) return memcpy(to, from, n);
    while (n--) ((char *)to)[n] = ((const char *)from)[n];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *p = a, *q = b;
    for (; n--; p++, q++) if (*p != *q) return *p < *q ? -1 : 1;
    return 0;
}

/* What compilers call for division of their widest integers. */
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
    for (int i = 8 * (int)sizeof(wide) - 1; i >= 0; i--) {
        int over = (int)(left >> (8 * sizeof(wide) - 1));
        left = left << 1 | (a >> i & 1);
        if (over || left >= b) left -= b, quotient |= (wide)1 << i;
    }
    *rest = left;
    return quotient;
}

static wide magnitude(wide_signed x) { return x < 0 ? -(wide)x : (wide)x; }

wide DIVISION(udiv)(wide a, wide b) { wide rest; return divide(a, b, &rest); }
wide DIVISION(umod)(wide a, wide b) { wide rest; divide(a, b, &rest); return rest; }

wide_signed DIVISION(div)(wide_signed a, wide_signed b)
{
    wide rest, quotient = divide(magnitude(a), magnitude(b), &rest);
    return (wide_signed)((a < 0) != (b < 0) ? -quotient : quotient);
}

wide_signed DIVISION(mod)(wide_signed a, wide_signed b)
{
    wide rest;
    divide(magnitude(a), magnitude(b), &rest);
    return (wide_signed)(a < 0 ? -rest : rest);
}

int main(void);
__attribute__((used)) void start(void)
{
    main();
    finish(RETURNED);
}

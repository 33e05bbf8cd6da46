/* Functions of <math.h> that split and join numbers. model/math_functions.py has those that are one operation. */

#include "certus.h"

typedef unsigned long long word;

/* The lowering gives these their meaning: the bits of a number, and the number of some bits. */
word __certus_bits_double(double);
unsigned __certus_bits_float(float);
double __certus_double_of(word);
float __certus_float_of(unsigned);

/* Multiply by a power of two. The extended format holds every result of float and double exactly. */
static inline long double scaled(long double x, long n)
{
    n = n > 3000 ? 3000 : n < -3000 ? -3000 : n;
    x = n > 2000 ? x * 0x1p1000L : n < -2000 ? x * 0x1p-1000L : x;
    n = n > 2000 ? n - 1000 : n < -2000 ? n + 1000 : n;
    x = n > 1000 ? x * 0x1p1000L : n < -1000 ? x * 0x1p-1000L : x;
    n = n > 1000 ? n - 1000 : n < -1000 ? n + 1000 : n;
    return x * __certus_double_of((word)(1023 + n) << 52);
}

#define SCALING(type, suffix)                                                                                         \
    type ldexp##suffix(type x, int n) { return (type)scaled(x, n); }                                                  \
    type scalbn##suffix(type x, int n) { return (type)scaled(x, n); }                                                 \
    type scalbln##suffix(type x, long n) { return (type)scaled(x, n); }

SCALING(double, )
SCALING(float, f)

/* The exponent of a number that is neither zero nor special. */
static inline int exponent(double x)
{
    word bits = __certus_bits_double(x), small = __certus_bits_double(x * 0x1p64);
    int power = (int)(bits >> 52 & 2047);
    return power ? power - 1023 : (int)(small >> 52 & 2047) - 1023 - 64;
}

static inline _Bool special(double x) { return (__certus_bits_double(x) >> 52 & 2047) == 2047; }

double frexp(double x, int *n)
{
    if (x == 0 || special(x)) {
        *n = x == 0 ? 0 : __certus_unspecified_int();
        return x + x; /* a NaN becomes quiet */
    }
    *n = exponent(x) + 1;
    return (double)scaled(x, -*n);
}

float frexpf(float x, int *n) { return (float)frexp(x, n); }

int ilogb(double x)
{
    return x == 0 || x != x ? -2147483647 - 1 : special(x) ? 2147483647 : exponent(x);
}

int ilogbf(float x) { return ilogb(x); }

double logb(double x) { return x == 0 ? -1 / (x * x) : special(x) ? x * x : exponent(x); }
float logbf(float x) { return (float)logb(x); }

#define PARTS(type, suffix)                                                                                           \
    type modf##suffix(type x, type *whole)                                                                            \
    {                                                                                                                 \
        type integer = __builtin_elementwise_trunc(x);                                                                \
        *whole = integer;                                                                                             \
        return x != x ? x + x : __builtin_elementwise_copysign(x == integer ? 0 : x - integer, x);                    \
    }

PARTS(double, )
PARTS(float, f)

/* The next number in a direction: its bits, without the sign, differ by one. */
#define NEXT(type, suffix, integer, bits, number)                                                                     \
    type nextafter##suffix(type x, type y)                                                                            \
    {                                                                                                                 \
        if (x != x || y != y) return x + y;                                                                           \
        if (x == y) return y;                                                                                         \
        if (x == 0) return y < 0 ? -number(1) : number(1);                                                            \
        return number((x < y) == (x > 0) ? bits(x) + 1 : bits(x) - 1);                                                \
    }

NEXT(double, , word, __certus_bits_double, __certus_double_of)
NEXT(float, f, unsigned, __certus_bits_float, __certus_float_of)

/* Functions of <math.h> whose values IEEE 754 or C fixes, for programs that run without a C library. They compute on
 * the registers of the x87, which hold every float and double exactly; each function rounds once, to its own type. */

#define WEAK __attribute__((weak))

typedef unsigned long long word;

/* Round to an integer in a direction of the control word: 0 nearest, 1 down, 2 up, 3 towards zero. */
static long double rounded(long double x, int direction)
{
    unsigned short old, new;
    __asm__ volatile("fnstcw %0" : "=m"(old));
    new = (unsigned short)((old & ~0xc00) | direction << 10);
    __asm__ volatile("fldcw %0" : : "m"(new));
    __asm__ volatile("frndint" : "+t"(x));
    __asm__ volatile("fldcw %0" : : "m"(old));
    return x;
}

static int negative(long double x)
{
    union { long double number; struct { word low; unsigned short high; } bits; } value = {x};
    return value.bits.high >> 15;
}

static long double with_sign(long double x, int sign)
{
    union { long double number; struct { word low; unsigned short high; } bits; } value = {x};
    value.bits.high = (unsigned short)((value.bits.high & 0x7fff) | sign << 15);
    return value.number;
}

static long double away(long double x)
{
    long double whole = rounded(x, 3), rest = x - whole;
    if (rest >= 0.5L || rest <= -0.5L) whole += negative(x) ? -1.0L : 1.0L;
    return whole == 0 ? with_sign(whole, negative(x)) : whole;
}

/* The mode that `fesetround` set, in the control word. */
static int mode(void)
{
    unsigned short control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return control >> 10 & 3;
}

static long double divided(long double x, long double y)
{
    unsigned short status;
    do {
        __asm__ volatile("fprem" : "+t"(x) : "u"(y));
        __asm__ volatile("fnstsw %0" : "=a"(status));
    } while (status & 0x400);
    return x;
}

static long double nearest_rest(long double x, long double y)
{
    unsigned short status;
    do {
        __asm__ volatile("fprem1" : "+t"(x) : "u"(y));
        __asm__ volatile("fnstsw %0" : "=a"(status));
    } while (status & 0x400);
    return x;
}

static long double scaled(long double x, long n)
{
    long double amount = n > 40000 ? 40000 : n < -40000 ? -40000 : n;
    __asm__("fscale" : "+t"(x) : "u"(amount));
    return x;
}

/* The exponent of a number that is neither zero nor special. */
static long double exponent(long double x)
{
    long double fraction, power;
    __asm__("fxtract" : "=t"(fraction), "=u"(power) : "0"(x));
    return power;
}

static int plain(long double x) { return x - x == 0 && x != 0; }

#define SHARED(type, suffix)                                                                                          \
    WEAK type floor##suffix(type x) { return (type)rounded(x, 1); }                                                   \
    WEAK type ceil##suffix(type x) { return (type)rounded(x, 2); }                                                    \
    WEAK type trunc##suffix(type x) { return (type)rounded(x, 3); }                                                   \
    WEAK type roundeven##suffix(type x) { return (type)rounded(x, 0); }                                               \
    WEAK type rint##suffix(type x) { return (type)rounded(x, mode()); }                                               \
    WEAK type nearbyint##suffix(type x) { return (type)rounded(x, mode()); }                                          \
    WEAK type round##suffix(type x) { return x != x ? x : (type)away(x); }                                            \
    WEAK type fmod##suffix(type x, type y) { return (type)divided(x, y); }                                            \
    WEAK type remainder##suffix(type x, type y) { return (type)nearest_rest(x, y); }                                  \
    WEAK type drem##suffix(type x, type y) { return (type)nearest_rest(x, y); }                                       \
    WEAK type fabs##suffix(type x) { return (type)with_sign(x, 0); }                                                  \
    WEAK type copysign##suffix(type x, type y) { return (type)with_sign(x, negative(y)); }                            \
    WEAK type fdim##suffix(type x, type y) { return x <= y ? 0 : x - y; }                                             \
    WEAK type fmin##suffix(type x, type y) { return x != x ? y : y != y ? x : x < y ? x : y; }                        \
    WEAK type fmax##suffix(type x, type y) { return x != x ? y : y != y ? x : y < x ? x : y; }                        \
    WEAK long lrint##suffix(type x) { return (long)rounded(x, mode()); }                                              \
    WEAK long long llrint##suffix(type x) { return (long long)rounded(x, mode()); }                                   \
    WEAK long lround##suffix(type x) { return (long)away(x); }                                                        \
    WEAK long long llround##suffix(type x) { return (long long)away(x); }                                             \
    WEAK type ldexp##suffix(type x, int n) { return (type)scaled(x, n); }                                             \
    WEAK type scalbn##suffix(type x, int n) { return (type)scaled(x, n); }                                            \
    WEAK type scalbln##suffix(type x, long n) { return (type)scaled(x, n); }                                          \
    WEAK type logb##suffix(type x) { return x == 0 ? -1 / (x * x) : plain(x) ? (type)exponent(x) : x * x; }           \
    WEAK int ilogb##suffix(type x)                                                                                    \
    {                                                                                                                 \
        return plain(x) ? (int)exponent(x) : x - x != 0 && x == x ? 2147483647 : -2147483647 - 1;                     \
    }                                                                                                                 \
    WEAK type frexp##suffix(type x, int *n)                                                                           \
    {                                                                                                                 \
        *n = plain(x) ? (int)exponent(x) + 1 : 0;                                                                     \
        return plain(x) ? (type)scaled(x, -*n) : x;                                                                   \
    }                                                                                                                 \
    WEAK type modf##suffix(type x, type *whole)                                                                       \
    {                                                                                                                 \
        *whole = (type)rounded(x, 3);                                                                                 \
        return x != x ? x : (type)with_sign(x == *whole ? 0 : x - *whole, negative(x));                               \
    }                                                                                                                 \
    WEAK int __isnan##suffix(type x) { return x != x; }                                                               \
    WEAK int isnan##suffix(type x) { return x != x; }                                                                 \
    WEAK int __isinf##suffix(type x) { return x - x != 0 && x == x ? negative(x) ? -1 : 1 : 0; }                      \
    WEAK int isinf##suffix(type x) { return x - x != 0 && x == x ? negative(x) ? -1 : 1 : 0; }                        \
    WEAK int __finite##suffix(type x) { return x - x == 0; }                                                          \
    WEAK int finite##suffix(type x) { return x - x == 0; }                                                            \
    WEAK int __signbit##suffix(type x) { return negative(x); }                                                        \
    WEAK int __fpclassify##suffix(type x)                                                                             \
    {                                                                                                                 \
        return __builtin_fpclassify(0, 1, 4, 3, 2, x);                                                                \
    }

SHARED(float, f)
SHARED(double, )
SHARED(long double, l)

WEAK int __signbitd(double x) { return negative(x); } /* names of double in another C library */
WEAK int __isnand(double x) { return x != x; }
WEAK int __isinfd(double x) { return __isinf(x); }
WEAK int __fpclassifyd(double x) { return __fpclassify(x); }

WEAK float sqrtf(float x)
{
    __asm__("sqrtss %1, %0" : "=x"(x) : "x"(x));
    return x;
}

WEAK double sqrt(double x)
{
    __asm__("sqrtsd %1, %0" : "=x"(x) : "x"(x));
    return x;
}

WEAK long double sqrtl(long double x)
{
    __asm__("fsqrt" : "+t"(x));
    return x;
}

/* The next number in a direction: its bits, without the sign, differ by one. */
#define NEXT(type, suffix, integer)                                                                                   \
    WEAK type nextafter##suffix(type x, type y)                                                                       \
    {                                                                                                                 \
        union { type number; integer bits; } result = {x};                                                            \
        if (x != x || y != y) return x + y;                                                                           \
        if (x == y) return y;                                                                                         \
        if (x == 0) {                                                                                                 \
            result.bits = 1;                                                                                          \
            return y < 0 ? -result.number : result.number;                                                            \
        }                                                                                                             \
        if ((x < y) == (x > 0)) result.bits++;                                                                        \
        else result.bits--;                                                                                           \
        return result.number;                                                                                         \
    }

NEXT(float, f, unsigned)
NEXT(double, , word)

WEAK int fesetround(int direction)
{
    unsigned short control;
    unsigned vector;
    if (direction & ~0xc00) return 1;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    __asm__ volatile("stmxcsr %0" : "=m"(vector));
    control = (unsigned short)((control & ~0xc00) | direction);
    vector = (vector & ~0x6000u) | (unsigned)direction << 3;
    __asm__ volatile("fldcw %0" : : "m"(control));
    __asm__ volatile("ldmxcsr %0" : : "m"(vector));
    return 0;
}

WEAK int fegetround(void) { return mode() << 10; }

/* Complex numbers. A product that is not a number is computed again with what remains of infinite parts. */
#define COMPLEX(type, suffix)                                                                                         \
    WEAK type creal##suffix(type _Complex z) { return __real__ z; }                                                   \
    WEAK type cimag##suffix(type _Complex z) { return __imag__ z; }                                                   \
    WEAK type _Complex conj##suffix(type _Complex z)                                                                  \
    {                                                                                                                 \
        __imag__ z = -__imag__ z;                                                                                     \
        return z;                                                                                                     \
    }                                                                                                                 \
    WEAK type _Complex cproj##suffix(type _Complex z)                                                                 \
    {                                                                                                                 \
        if (!__isinf##suffix(__real__ z) && !__isinf##suffix(__imag__ z)) return z;                                   \
        __real__ z = (type)__builtin_inf();                                                                           \
        __imag__ z = (type)with_sign(0, negative(__imag__ z));                                                        \
        return z;                                                                                                     \
    }                                                                                                                 \
    static type _Complex product##suffix(type a, type b, type c, type d)                                              \
    {                                                                                                                 \
        type _Complex z;                                                                                              \
        type parts[4] = {a, b, c, d};                                                                                 \
        type ac = a * c, bd = b * d, ad = a * d, bc = b * c;                                                          \
        int first = __isinf##suffix(a) || __isinf##suffix(b), second = __isinf##suffix(c) || __isinf##suffix(d);      \
        int beyond = __isinf##suffix(ac) || __isinf##suffix(bd) || __isinf##suffix(ad) || __isinf##suffix(bc);        \
        __real__ z = ac - bd;                                                                                         \
        __imag__ z = ad + bc;                                                                                         \
        if (__real__ z == __real__ z || __imag__ z == __imag__ z || (!first && !second && !beyond)) return z;         \
        for (int i = 0; i < 4; i++) {                                                                                 \
            type part = parts[i];                                                                                     \
            if (i < 2 ? first : second) part = __isinf##suffix(part) ? 1 : 0;                                         \
            else if (part != part) part = 0;                                                                          \
            parts[i] = (type)with_sign(part, negative(parts[i]));                                                     \
        }                                                                                                             \
        __real__ z = (type)__builtin_inf() * (parts[0] * parts[2] - parts[1] * parts[3]);                             \
        __imag__ z = (type)__builtin_inf() * (parts[0] * parts[3] + parts[1] * parts[2]);                             \
        return z;                                                                                                     \
    }

COMPLEX(float, f)
COMPLEX(double, )
COMPLEX(long double, l)

WEAK float _Complex __mulsc3(float a, float b, float c, float d) { return productf(a, b, c, d); }
WEAK double _Complex __muldc3(double a, double b, double c, double d) { return product(a, b, c, d); }
WEAK long double _Complex __mulxc3(long double a, long double b, long double c, long double d)
{
    return productl(a, b, c, d);
}

WEAK double difftime(long a, long b) { return (double)((long double)a - (long double)b); }

/* Functions of <complex.h> that split complex numbers, and what compilers call for quotients and for products that are
 * no numbers. */

#include "certus.h"

double hypot(double, double), atan2(double, double), copysign(double, double);
float hypotf(float, float), atan2f(float, float), copysignf(float, float);
long double hypotl(long double, long double), atan2l(long double, long double), copysignl(long double, long double);

#define is_nan(x) ((x) != (x))
#define is_infinite(x) ((x) == __builtin_inf() || (x) == -__builtin_inf())

/* 1 for an infinity and otherwise 0, with the sign of the number: what the standard has in place of `x`. */
#define BOXED(suffix, x) copysign##suffix(is_infinite(x) ? 1 : 0, x)
#define ZERO_IF_NAN(suffix, x) (is_nan(x) ? copysign##suffix(0, x) : (x))

/* A product is (a + bi) * (c + di), where Annex G of the standard recovers infinities from parts that are NaN. A quotient
 * has any value, since compilers compute it differently. */
#define COMPLEX(type, suffix, product, quotient)                                                                      \
    static inline type _Complex of_parts##suffix(type real, type imaginary)                                           \
    {                                                                                                                 \
        type _Complex z;                                                                                              \
        __real__ z = real;                                                                                            \
        __imag__ z = imaginary;                                                                                       \
        return z;                                                                                                     \
    }                                                                                                                 \
    type creal##suffix(type _Complex z) { return __real__ z; }                                                        \
    type cimag##suffix(type _Complex z) { return __imag__ z; }                                                        \
    type _Complex conj##suffix(type _Complex z) { return of_parts##suffix(__real__ z, -__imag__ z); }                 \
    type cabs##suffix(type _Complex z) { return hypot##suffix(__real__ z, __imag__ z); }                              \
    type carg##suffix(type _Complex z) { return atan2##suffix(__imag__ z, __real__ z); }                              \
    type _Complex cproj##suffix(type _Complex z)                                                                      \
    {                                                                                                                 \
        if (!is_infinite(__real__ z) && !is_infinite(__imag__ z)) return z;                                           \
        return of_parts##suffix((type)__builtin_inf(), copysign##suffix(0, __imag__ z));                              \
    }                                                                                                                 \
    type _Complex product(type a, type b, type c, type d)                                                             \
    {                                                                                                                 \
        type ac = a * c, bd = b * d, ad = a * d, bc = b * c, real = ac - bd, imaginary = ad + bc;                     \
        if (!is_nan(real) || !is_nan(imaginary)) return of_parts##suffix(real, imaginary);                            \
        _Bool first = is_infinite(a) || is_infinite(b), second = is_infinite(c) || is_infinite(d);                    \
        if (!first && !second && !is_infinite(ac) && !is_infinite(bd) && !is_infinite(ad) && !is_infinite(bc))        \
            return of_parts##suffix(real, imaginary);                                                                 \
        if (first) a = BOXED(suffix, a), b = BOXED(suffix, b);                                                        \
        if (second) c = BOXED(suffix, c), d = BOXED(suffix, d);                                                       \
        a = ZERO_IF_NAN(suffix, a), b = ZERO_IF_NAN(suffix, b);                                                       \
        c = ZERO_IF_NAN(suffix, c), d = ZERO_IF_NAN(suffix, d);                                                       \
        type infinity = (type)__builtin_inf();                                                                        \
        return of_parts##suffix(infinity * (a * c - b * d), infinity * (a * d + b * c));                              \
    }                                                                                                                 \
    type __certus_unknown_part##suffix(void);                                                                         \
    type _Complex quotient(type a, type b, type c, type d)                                                            \
    {                                                                                                                 \
        return of_parts##suffix(__certus_unknown_part##suffix(), __certus_unknown_part##suffix());                    \
    }

COMPLEX(double, , __muldc3, __divdc3)
COMPLEX(float, f, __mulsc3, __divsc3)
COMPLEX(long double, l, __mulxc3, __divxc3)

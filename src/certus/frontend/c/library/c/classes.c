/* Classes of floating-point numbers: the functions behind the macros of <math.h>. The masks are those of LLVM. */

#include "certus.h"

#define CLASSES(type, suffix)                                                                                         \
    int isnan##suffix(type x) { return __builtin_isfpclass(x, 3); }                                                   \
    int isinf##suffix(type x) /* with the sign, as the C library of GNU */                                            \
    {                                                                                                                 \
        return __builtin_isfpclass(x, 512) ? 1 : __builtin_isfpclass(x, 4) ? -1 : 0;                                  \
    }                                                                                                                 \
    int finite##suffix(type x) { return __builtin_isfpclass(x, 504); }                                                \
    int __signbit##suffix(type x) { return truth(__builtin_signbit(x)); }                                             \
    int __fpclassify##suffix(type x)                                                                                  \
    {                                                                                                                 \
        int finite = __builtin_isfpclass(x, 96) ? 2 : __builtin_isfpclass(x, 144) ? 3 : 4;                            \
        return __builtin_isfpclass(x, 3) ? 0 : __builtin_isfpclass(x, 516) ? 1 : finite;                              \
    }

CLASSES(double, )
CLASSES(float, f)
CLASSES(long double, l)

/* Integer arithmetic. What may overflow or divide by zero here does so by the user's arguments: this file alone is
 * compiled with the checks of the property, and folded into the calls, so that they are checks of the calls. */

#include "certus.h"

int abs(int x) { return x < 0 ? -x : x; }
long labs(long x) { return x < 0 ? -x : x; }
long long llabs(long long x) { return x < 0 ? -x : x; }

#define DIVISION(name, type, result)                                                                                  \
    typedef struct { type quot, rem; } result;                                                                        \
    result name(type a, type b) { return (result){a / b, a % b}; }

DIVISION(div, int, div_t)
DIVISION(ldiv, long, ldiv_t)
DIVISION(lldiv, long long, lldiv_t)

int ffs(int x) { return __builtin_ffs(x); }
int ffsl(long x) { return __builtin_ffsl(x); }
int ffsll(long long x) { return __builtin_ffsll(x); }

unsigned htonl(unsigned x) { return __builtin_bswap32(x); } /* x86 has the lowest byte first */
unsigned short htons(unsigned short x) { return __builtin_bswap16(x); }

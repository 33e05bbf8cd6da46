#include <assert.h>
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int r;
    assert(__builtin_add_overflow(2147483647, 1, &r) && r == -2147483647 - 1); // HOLDS
    assert(!__builtin_mul_overflow(3, 4, &r) && r == 12); // HOLDS
    assert(__builtin_popcount(0xf0) == 4 && __builtin_clz(1) == 31 && __builtin_ctz(8) == 3); // HOLDS
    assert(__builtin_bswap32(0x01020304) == 0x04030201); // HOLDS
    int x = __VERIFIER_nondet_int();
    if (__builtin_expect(x > 3, 0)) assert(x != 3); // HOLDS
    if (x == 7) __builtin_unreachable();
    assert(x != 7); // HOLDS
}

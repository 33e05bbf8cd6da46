#include <assert.h>

extern int __VERIFIER_nondet_int(void);

int main(void) {
    int a = __VERIFIER_nondet_int();
    assert((a < 5 < 1) == (a >= 5)); // HOLDS
    assert((1 == a == 0) == (a != 1)); // HOLDS
    assert((0 <= a <= 1) == 1); // HOLDS
    assert(-1 > 0u && -1L < 1u && (short)-1 < (unsigned short)1); // HOLDS
    assert((unsigned char)a == a || a < 0 || a > 255); // HOLDS
    assert((a > (unsigned)-2) == (a == -1)); // HOLDS
}

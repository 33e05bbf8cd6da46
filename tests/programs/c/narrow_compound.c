#include <assert.h>

extern int __VERIFIER_nondet_int(void);

int main(void) {
    int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int();
    if (a < -3 || a > 3 || b < 0 || b > 3) return 0;
    unsigned char c = 250;
    c += a + 10;
    assert(c == 4 + a); // HOLDS
    signed char d = 100;
    d *= b + 1;
    assert(d == (b == 0 ? 100 : b == 1 ? -56 : b == 2 ? 44 : -112)); // HOLDS
    short e = -5;
    e /= b + 1;
    assert(e == (b == 0 ? -5 : b == 1 ? -2 : -1)); // HOLDS
    _Bool t = b;
    t--;
    assert(t == !b); // HOLDS
    unsigned short u = 0;
    u--;
    u += a;
    assert(u == (a > 0 ? a - 1 : 65535 + a)); // HOLDS
    unsigned char s = 0x80 | b;
    s <<= 1;
    assert(s == 2 * b && (s << 8 >> 9) == b); // HOLDS
}

#include <assert.h>

int main(void) {
    int a = -7;
    assert(a / 2 == -3 && a % 2 == -1 && a / -2 == 3 && 7 % -2 == 1); // HOLDS
    assert(a >> 1 == -4 && (unsigned)a >> 28 == 15); // HOLDS
    unsigned long long x = 1;
    assert(x << 40 == 1099511627776ULL); // HOLDS
    int s = 3;
    s <<= 2;
    s |= 1;
    s ^= 8;
    assert(s == 5); // HOLDS
    s %= 3;
    s *= -4;
    assert(s == -8); // HOLDS
}

// decided-by: execution bmc
#include <assert.h>

long double scaled(long double x) { return x * 10; }

int main(void) {
    long double tenth = 0.1L;
    assert(tenth != 0.1 && scaled(tenth) == 1.0L); // HOLDS
    long double large = 0x1p63L + 1; // a double cannot hold this
    assert(large - 0x1p63L == 1 && (double)large - 0x1p63 == 0); // HOLDS
    unsigned long long whole = (unsigned long long)(large + 0.5L);
    assert(whole == (1ull << 63) + 2 || whole == (1ull << 63) + 1); // HOLDS
    _Complex double z = 1 + 2.0i, w = z * z;
    assert(__real__ w == -3 && __imag__ w == 4); // HOLDS
}

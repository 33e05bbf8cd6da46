#include <assert.h>

int main(void) {
    unsigned char c = 200, d = 100;
    assert(c + d == 300); // HOLDS
    c = c + d;
    assert(c == 44); // HOLDS
    signed char s = (signed char)200;
    assert(s == -56 && s < c); // HOLDS
    unsigned u = 1;
    assert(-1 > u); // HOLDS
    long long wide = -1;
    assert(wide < u); // HOLDS
    unsigned short h = 65535;
    h++;
    assert(h == 0 && (unsigned short)~h == 65535); // HOLDS
    assert(~h == -1); // HOLDS
}

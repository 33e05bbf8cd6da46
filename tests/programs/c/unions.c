#include <assert.h>

union word { unsigned whole; unsigned char byte[4]; struct { unsigned short low, high; } half; };
struct tagged { int tag; union { int i; char *s; }; };

int main(void) {
    union word w;
    w.whole = 0x04030201;
    assert(w.byte[0] == 1 && w.byte[3] == 4 && w.half.high == 0x0403); // HOLDS
    w.byte[1] = 0xff;
    assert(w.whole == 0x0403ff01); // HOLDS
    union word v = w;
    v.half.low = 0;
    assert(v.whole == 0x04030000 && w.half.low == 0xff01); // HOLDS
    struct tagged t = {1, {5}};
    assert(t.i == 5); // HOLDS
    t.s = "x";
    assert(t.s[0] == 'x'); // HOLDS
}

#include <assert.h>
#include <string.h>

struct bits { _Bool flag : 1; unsigned long long wide : 46; short after; };
union overlaid { struct { char a; int b; } parts; unsigned char bytes[8]; };

struct bits same(struct bits given) { return given; }

int main(void) {
    struct bits first = {1, 0x3fffffffff01ULL, -5}, zero = {0}, second = same(first);
    assert(second.flag && second.wide == 0x3fffffffff01ULL && second.after == -5); // HOLDS
    assert(!zero.flag && zero.wide == 0 && zero.after == 0); // HOLDS
    union overlaid u, v;
    for (int i = 0; i < 8; i++) u.bytes[i] = 10 + i;
    v = u;
    assert(v.bytes[1] == 11 && v.bytes[3] == 13 && v.bytes[7] == 17); // HOLDS
    memset(&u.parts, 0, sizeof u.parts);
    assert(u.bytes[1] == 0 && u.bytes[3] == 0); // HOLDS
    memcpy(&u.parts, &v.parts, sizeof u.parts);
    assert(u.bytes[1] == 11 && u.bytes[3] == 13); // HOLDS
}

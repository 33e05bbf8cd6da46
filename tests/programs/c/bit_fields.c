// decided-by: linear ranges
#include <assert.h>

struct flags { unsigned a : 3; int b : 4; unsigned : 0; unsigned c : 1; _Bool d : 1; };

int main(void) {
    struct flags f = {7, -3, 1, 1};
    assert(f.a == 7 && f.b == -3 && f.c == 1 && f.d); // HOLDS
    f.a++;
    assert(f.a == 0 && f.b == -3); // HOLDS
    f.b = 8;
    assert(f.b == -8); // HOLDS
    assert((f.a = 12) == 4); // HOLDS
    f.d = 42;
    f.c += 3;
    assert(f.d == 1 && f.c == 0 && f.a == 4 && f.b == -8); // HOLDS
    assert(f.b-- == -8 && f.b == 7); // HOLDS
}

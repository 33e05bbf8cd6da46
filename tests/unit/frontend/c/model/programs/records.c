#include <assert.h>
struct pair { int a; short b; };
union word { unsigned number; unsigned char bytes[4]; };
struct flags { unsigned low : 3; unsigned high : 5; };
static struct pair turned(struct pair given) {
    struct pair made = {.a = given.b, .b = (short)given.a};
    return made;
}
int main(void) {
    struct pair p = {1, -2}, q;
    q = turned(p);
    union word w = {.number = 0x01020304};
    struct flags f = {1, 2};
    f.low++;
    w.bytes[0] += q.a;
    assert(w.bytes[0] != 2 || f.low != 2);
    return 0;
}

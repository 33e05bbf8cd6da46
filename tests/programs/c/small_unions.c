#include <assert.h>

union empty { signed : 0; };
union packed { int x : 3; char c; } __attribute__((packed));
union unnamed { int : 5; char c; };
union three { int x : 20; short s; } __attribute__((packed));
struct all { union packed p; union unnamed u; union three t; union empty e; char last; };

static struct all changed(struct all v, union empty e) {
    v.p.x += 1;
    v.t.s++;
    return v;
}

int main(void) {
    assert(sizeof(struct all) == 6); // HOLDS
    struct all a = {{1}, {2}, {3}, {}, 9};
    union empty e;
    struct all b = changed(a, e);
    assert(a.p.x == 1 && a.last == 9); // HOLDS
    a = b;
    assert(a.p.x == 2 && a.u.c == 2 && a.t.x == 4); // HOLDS
    assert(a.last == 9); // HOLDS
}

/* HOLDS: records within records are copied whole. */
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
struct inner { short low; int high; };
struct outer { struct inner one, two; int sum; };

int main(void) {
    struct outer a, b;
    a.one.low = 5;
    a.one.high = __VERIFIER_nondet_int();
    a.two = a.one;
    a.two.low++;
    b = a;
    b.sum = b.one.low + b.two.low;
    assert(b.sum == 11 && b.two.high == a.one.high);
}

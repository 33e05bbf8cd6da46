/* HOLDS: calls that return what they are given, more or less. */
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
static int add(int a, int b) { return a + b; }
static int twice(int a) { return add(a, a); }
static int negate(int a) { return add(0, -a); }

int main(void) {
    int x = __VERIFIER_nondet_int();
    if (x < -1000 || x > 1000) return 0;
    assert(add(twice(x), negate(x)) == x);
}

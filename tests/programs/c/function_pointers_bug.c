#include <assert.h>
extern int __VERIFIER_nondet_int(void);

static int inc(int x) { return x + 1; }
static int twice(int x) { return x * 2; }

int main(void) {
    int (*steps[2])(int) = {inc, twice};
    int i = __VERIFIER_nondet_int();
    if (i < 0 || i > 1) return 0;
    int x = steps[i](3);
    assert(x == 4 || x == 6); // HOLDS
    x = steps[1 - i](x);
    assert(x != 7); // VIOLATED
}

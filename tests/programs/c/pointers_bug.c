#include <assert.h>
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int x = 0, y = 0;
    int *p = __VERIFIER_nondet_int() ? &x : &y;
    *p = 5;
    assert(x + y == 5); // HOLDS
    assert(x == 5 || p != &x); // HOLDS
    assert(y == 0); // VIOLATED
}

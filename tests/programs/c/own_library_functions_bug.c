#include <assert.h>

extern int __VERIFIER_nondet_int(void);

int abs(int x) { return x; }

int main(void) {
    int x = __VERIFIER_nondet_int();
    assert(abs(x) != -3); // VIOLATED
    return 0;
}

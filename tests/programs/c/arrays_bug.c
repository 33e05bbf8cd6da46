#include <assert.h>
extern unsigned __VERIFIER_nondet_uint(void);

int main(void) {
    int a[5] = {3, 1, 4, 1, 5};
    unsigned i = __VERIFIER_nondet_uint();
    if (i >= 5) return 0;
    a[i] = 9;
    assert(a[2] == 4 || i == 2); // HOLDS
    assert(a[3] == 1); // VIOLATED
}

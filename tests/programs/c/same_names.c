#include <assert.h>

extern int __VERIFIER_nondet_int(void);

/* Many arrays of one name in one function. */
#define ADD { int part[3]; for (int i = 0; i < 3; i++) part[i] = i * n; sum += part[2]; }

int main(void) {
    int sum = 0, n = __VERIFIER_nondet_int() & 3;
    ADD ADD ADD ADD ADD ADD ADD ADD ADD
    assert(sum == 18 * n); // HOLDS
    return 0;
}

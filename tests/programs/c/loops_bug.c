#include <assert.h>
extern unsigned __VERIFIER_nondet_uint(void);

int main(void) {
    unsigned n = __VERIFIER_nondet_uint(), i, sum = 0;
    if (n > 4) return 0;
    for (i = 1; i <= n; i++) sum += i;
    assert(sum == n * (n + 1) / 2); // HOLDS
    assert(sum < 10); // VIOLATED
}

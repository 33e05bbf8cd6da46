/* VIOLATED: an exchange among 32 numbers loses the larger one. */
#include <assert.h>
extern unsigned __VERIFIER_nondet_uint(void);

int main(void) {
    unsigned a[32];
    for (int i = 0; i < 32; i++) {
        a[i] = __VERIFIER_nondet_uint();
    }
    for (int last = 31; last > 0; last--) {
        for (int j = 0; j < last; j++) {
            if (a[j] > a[j + 1]) {
                unsigned other = a[j];
                a[j] = a[j + 1];
                a[j + 1] = a[j];
            }
            assert(a[0] <= a[j + 1]);
        }
    }
}

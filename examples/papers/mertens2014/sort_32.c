/* HOLDS: in every pass over 32 numbers the first is not larger than the one carried on. */
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
                a[j + 1] = other;
            }
            assert(a[0] <= a[j + 1]);
        }
    }
}

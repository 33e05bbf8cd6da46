// decided-by: predicate
#include <assert.h>

double __VERIFIER_nondet_double(void);
int __VERIFIER_nondet_int(void);

int main(void) {
    double low = 0, high = 1;
    while (__VERIFIER_nondet_int()) {
        double middle = __VERIFIER_nondet_double();
        if (middle > low && middle < high) {
            if (__VERIFIER_nondet_int()) low = middle;
            else high = middle;
        }
    }
    assert(low < high); // HOLDS
    assert(low != 1); // HOLDS
}

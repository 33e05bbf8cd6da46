// decided-by: bmc
#include <assert.h>

float __VERIFIER_nondet_float(void);
double __VERIFIER_nondet_double(void);

int main(void) {
    float x = __VERIFIER_nondet_float();
    double y = __VERIFIER_nondet_double();
    if (x > 0.1f && x < 0.2f && y == x) {
        assert(x * x < 0.0400001f); // HOLDS
        assert(x * x <= 0.039f); // VIOLATED
    }
}

// decided-by: ranges
#include <assert.h>
#include <math.h>

double __VERIFIER_nondet_double(void);
int __VERIFIER_nondet_int(void);

int main(void) {
    double s = 0;
    float half = 1;
    for (int i = 0; i < 1000000; i++) {
        double x = __VERIFIER_nondet_double();
        if (!(x >= -1 && x <= 1)) continue;
        if (__VERIFIER_nondet_int()) s = 0;
        s = 0.9 * s + x;
        half = half / 2 + 0.25f;
        assert(s <= 100 && s >= -100); // HOLDS
        assert(fabs(s) < 1000); // HOLDS
        assert(s == s && half > 0 && half <= 1); // HOLDS
    }
}

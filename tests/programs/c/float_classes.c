// decided-by: bmc
#include <assert.h>
int __isnan(double), __isinf(double), __isinff(float), __finite(double), __signbit(double), __signbitf(float);
int __fpclassify(double), __fpclassifyf(float), __fpclassifyl(long double), isnanf(float), isinfl(long double);
extern double __VERIFIER_nondet_double(void);
extern float __VERIFIER_nondet_float(void);
int main(void) {
    double d = __VERIFIER_nondet_double();
    float f = __VERIFIER_nondet_float();
    assert(!__isnan(d) == (d == d)); // HOLDS
    assert(!isnanf(f) == (f == f)); // HOLDS
    assert(__isinf(d) == (d > 0x1.fffffffffffffp+1023) - (d < -0x1.fffffffffffffp+1023)); // HOLDS
    assert(isinfl(1.0L / 0.0L) == 1 && __isinff(-1.0f / 0.0f) == -1); // HOLDS
    assert(!__finite(d) == (d - d != 0)); // HOLDS
    assert(!(d < 0) || __signbit(d)); // HOLDS
    assert(!(f > 0) || !__signbitf(f)); // HOLDS
    assert(__signbit(-0.0) && !__signbit(0.0)); // HOLDS
    assert((__fpclassify(d) == 0) == (d != d)); // HOLDS
    assert((__fpclassifyf(f) == 2) == (f == 0)); // HOLDS
    assert(__fpclassifyl(0x1p-16445L) == 3 && __fpclassifyf(0x1p-149f) == 3 && __fpclassify(1.0) == 4); // HOLDS
    assert(__fpclassifyl(-1.0L / 0.0L) == 1); // HOLDS
    assert(__fpclassify(d) != 3); // VIOLATED
}

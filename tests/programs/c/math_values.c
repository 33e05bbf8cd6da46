// decided-by: execution
#include <assert.h>
#include <complex.h>
#include <math.h>

int main(void) {
    double zero = -0.0, one = 1, infinity = one / (zero * zero), nan = zero / zero;
    assert(1 / sin(zero) == -infinity && 1 / tan(-zero) == infinity && cos(zero) == 1); // HOLDS
    assert(1 / atan(zero) == -infinity && 1 / cbrt(zero) == -infinity && cosh(zero) == 1); // HOLDS
    assert(1 / asin(zero) == -infinity && acos(one) == 0); // HOLDS
    assert(exp(zero) == 1 && exp2(infinity) == infinity && 1 / exp(-infinity) == infinity); // HOLDS
    assert(log(one) == 0 && log2(zero) == -infinity && log10(infinity) == infinity); // HOLDS
    assert(pow(nan, zero) == 1 && powf(1.0f, (float)nan) == 1); // HOLDS
    assert(hypot(-2.5, zero) == 2.5 && hypot(nan, -infinity) == infinity); // HOLDS
    assert(1 / atan2(zero, one) == -infinity && cabs(-2.5) == 2.5 && carg(one) == 0); // HOLDS
}

// decided-by: execution
#include <assert.h>
#include <complex.h>
#include <time.h>

int main(void) {
    double complex z = 3.0 + 2.0 * I, w = conj(z), p = z * w;
    assert(creal(z) == 3 && cimag(z) == 2); // HOLDS
    assert(creal(w) == 3 && cimag(w) == -2 && creal(p) == 13 && cimag(p) == 0); // HOLDS
    float complex f = 1.5f - 0.5f * I;
    assert(crealf(conjf(f)) == 1.5f && cimagf(conjf(f)) == 0.5f && crealf(f * f) == 2); // HOLDS
    long double complex l = 4 + 1.0L * I;
    assert(creall(l) == 4 && cimagl(conjl(l)) == -1 && cimagl(l * l) == 8); // HOLDS
    double infinity = 1e308 * 10;
    double complex far;
    __real__ far = -infinity;
    __imag__ far = infinity - infinity;
    double complex projected = cproj(far), same = cproj(z);
    assert(creal(projected) == infinity && same == z); // HOLDS
    double complex product = far * z;
    assert(creal(product) == -infinity && cimag(product) == -infinity); // HOLDS
    time_t earlier = 1000, later = 4000;
    assert(difftime(later, earlier) == 3000 && difftime(earlier, later) == -3000); // HOLDS
}

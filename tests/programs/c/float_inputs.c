// decided-by: bmc
#include <assert.h>

double __VERIFIER_nondet_double(void);
float __VERIFIER_nondet_float(void);

int main(void) {
    double x = __VERIFIER_nondet_double();
    float y = __VERIFIER_nondet_float();
    if (x == x && x - x != 0) assert(x > 1.7e308 || x < -1.7e308); // HOLDS
    if (y >= 1 && y <= 2) assert(y + y >= 2 && y + y <= 4 && y * 0.5f * 2 == y); // HOLDS
    if (x > -100 && x < 100) assert((int)x < 100 && (int)x > -100); // HOLDS
    assert((x < y) + (x >= y) + (x != x || y != y) == 1); // HOLDS
}

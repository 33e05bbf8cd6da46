/* VIOLATED: greatest common divisor by subtraction, given up after two rounds. */
#include <assert.h>
extern unsigned __VERIFIER_nondet_uint(void);

int main(void) {
    unsigned a = __VERIFIER_nondet_uint(), b = __VERIFIER_nondet_uint();
    if (a > 6 || b > 6) return 0;
    unsigned rounds = 0;
    while (a != b && rounds < 2) {
        if (a > b)
            a = a - b;
        else
            b = b - a;
        rounds++;
    }
    assert(a == b);
}

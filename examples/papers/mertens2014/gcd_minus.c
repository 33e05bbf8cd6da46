/* HOLDS: subtraction keeps both numbers positive. */
#include <assert.h>
extern unsigned __VERIFIER_nondet_uint(void);

int main(void) {
    unsigned a = __VERIFIER_nondet_uint(), b = __VERIFIER_nondet_uint();
    if (a == 0 || b == 0) return 0;
    while (a != b) {
        if (a > b)
            a = a - b;
        else
            b = b - a;
    }
    assert(a > 0);
}

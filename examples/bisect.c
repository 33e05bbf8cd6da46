/* HOLDS: bisection keeps low <= high, for every upper bound and every answer on the way. */
#include <assert.h>

extern unsigned __VERIFIER_nondet_uint(void);
extern _Bool __VERIFIER_nondet_bool(void);

int main(void) {
    unsigned low = 0, high = __VERIFIER_nondet_uint();
    while (low != high) {
        unsigned middle = low + (high - low) / 2;
        if (__VERIFIER_nondet_bool())
            low = middle + 1;
        else
            high = middle;
        assert(low <= high);
    }
}

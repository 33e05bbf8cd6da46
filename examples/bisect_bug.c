/* VIOLATED: low + high can exceed UINT_MAX and wrap, so that middle lies below low. */
#include <assert.h>

extern unsigned __VERIFIER_nondet_uint(void);
extern _Bool __VERIFIER_nondet_bool(void);

int main(void) {
    unsigned low = 0, high = __VERIFIER_nondet_uint();
    while (low != high) {
        unsigned middle = (low + high) / 2;
        if (__VERIFIER_nondet_bool())
            low = middle + 1;
        else
            high = middle;
        assert(low <= high);
    }
}

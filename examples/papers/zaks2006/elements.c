/* HOLDS: a pointer to one of two variables, and the range of what it points to (Zaks et al. 2006, section 2) */
#include <assert.h>
extern int __VERIFIER_nondet_int(void);

int first, second;

int main(void) {
    int *chosen = __VERIFIER_nondet_int() ? &first : &second;
    for (int i = 0; i < 6; i++)
        *chosen = i;
    assert(first <= 5);
}

/* HOLDS: two numbers of 32 bits in order. */
#include <assert.h>
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int a[2], before[2];
    before[0] = a[0] = (int)__VERIFIER_nondet_int();
    before[1] = a[1] = (int)__VERIFIER_nondet_int();
    if (a[0] > a[1]) {
        int other = a[0];
        a[0] = a[1];
        a[1] = other;
    }
    assert(a[0] <= a[1]);
    assert(a[0] == before[0] || a[0] == before[1]);
}

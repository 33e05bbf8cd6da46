/* VIOLATED: the second of two numbers of 32 bits is lost. */
#include <assert.h>
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int a[2], before[2];
    before[0] = a[0] = (int)__VERIFIER_nondet_int();
    before[1] = a[1] = (int)__VERIFIER_nondet_int();
    if (a[0] > a[1]) {
        int other = a[0];
        a[0] = a[1];
        a[1] = a[0];
    }
    assert(a[0] <= a[1]);
    assert(a[1] == before[0] || a[1] == before[1] && a[0] != a[1]);
}

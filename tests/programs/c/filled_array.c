// decided-by: arrays
#include <assert.h>

extern int __VERIFIER_nondet_int(void);
int a[1000];

int main(void) {
    int n = __VERIFIER_nondet_int();
    for (int i = 0; i < 1000; i++) a[i] = n;
    for (int i = 0; i < 1000; i++) assert(a[i] == n); // HOLDS
}

// property: valid-memcleanup
#include <stdlib.h>
int __VERIFIER_nondet_int(void);

static int *p;

__attribute__((destructor)) static void clean(void) {
    free(p); // HOLDS
}

int main(void) {
    p = malloc(4);
    if (__VERIFIER_nondet_int()) exit(1); // HOLDS
    return 0;
}

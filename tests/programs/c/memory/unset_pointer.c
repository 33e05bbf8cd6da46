// property: valid-memsafety
// subproperty: valid-deref
// inputs: 0
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int *p;
    if (__VERIFIER_nondet_int()) p = malloc(4);
    *p = 1; // VIOLATED
    free(p);
}

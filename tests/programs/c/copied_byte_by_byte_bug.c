// property: valid-memsafety
// decided-by: bmc
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
int main(void) {
    char bytes[sizeof(int *)];
    int *p = malloc(sizeof *p), *q;
    for (unsigned i = 0; i < sizeof p; i++)
        bytes[i] = ((char *)&p)[i];
    for (unsigned i = 0; i < sizeof q; i++)
        ((char *)&q)[i] = bytes[i];
    *q = 1; // HOLDS
    p = malloc(__VERIFIER_nondet_int() == 4711 ? 3 : 4);
    *p = 2; // VIOLATED
    free(p);
    free(q);
}

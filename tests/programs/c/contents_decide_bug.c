// property: valid-memsafety
// decided-by: random
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

int main(void) {
    int *kind = malloc(sizeof *kind);
    if (__VERIFIER_nondet_int() == 0 && *kind == 3)
        kind = 0;
    *kind = 1; // VIOLATED
    free(kind);
}

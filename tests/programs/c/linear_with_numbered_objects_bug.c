// property: valid-deref
// decided-by: linear
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
int main(void) {
    int *last = 0, *older;
    while (__VERIFIER_nondet_int()) {
        older = last;
        last = malloc(sizeof *last);
        if (!older)
            continue;
        free(older);
        *older = 1; // VIOLATED
    }
    free(last);
    return 0;
}

// property: valid-memsafety
// decided-by: kind
#include <stdlib.h>
extern unsigned __VERIFIER_nondet_uint(void);
int main(void) {
    unsigned size;
    while ((size = __VERIFIER_nondet_uint()) > 3) {
        char *buffer = malloc(size);
        buffer[size - 1] = 0;
        free(buffer);
    }
    return 0; // HOLDS
}

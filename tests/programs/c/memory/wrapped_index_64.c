// property: valid-memsafety
// subproperty: valid-deref
// data-model: LP64
#include <stdlib.h>

int main(void) {
    long *p = malloc(32);
    unsigned long i = 1ul << 61;
    p[i] = 1; // VIOLATED
    free(p);
}

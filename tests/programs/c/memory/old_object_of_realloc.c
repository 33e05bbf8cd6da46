// property: valid-memsafety
// subproperty: valid-deref
#include <stdlib.h>

int main(void) {
    int *p = malloc(4);
    int *q = realloc(p, 8);
    *p = 1; // VIOLATED
    free(q);
}

// property: valid-memsafety
// subproperty: valid-free
#include <stdlib.h>

int main(void) {
    int *p = malloc(4);
    free(p);
    int *q = realloc(p, 8); // VIOLATED
    free(q);
}

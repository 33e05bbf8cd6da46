// property: valid-memsafety
// subproperty: valid-free
#include <stdlib.h>

int main(void) {
    char *p = malloc(4), *q = p;
    free(0);
    free(p);
    free(q); // VIOLATED
}

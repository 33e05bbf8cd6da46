// property: valid-memsafety
// subproperty: valid-deref
#include <stdlib.h>

int main(void) {
    char *p = malloc(1);
    p++;
    char *q = malloc(2);
    *p = 1; // VIOLATED
    free(q);
}

// property: valid-memsafety
// subproperty: valid-deref
#include <stdlib.h>

int main(void) {
    char *p = malloc(0);
    char c = *p; // VIOLATED
    free(p);
    return c;
}

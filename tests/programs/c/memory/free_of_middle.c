// property: valid-memsafety
// subproperty: valid-free
#include <stdlib.h>

int main(void) {
    char *p = malloc(4);
    p++;
    free(p); // VIOLATED
}

// property: valid-memsafety
#include <stdlib.h>

int main(void) {
    char *p = malloc(2);
    p = realloc(p, 0); // null, or an object without bytes
    free(p);           // HOLDS
}

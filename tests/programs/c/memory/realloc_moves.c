// property: valid-memsafety
#include <stdlib.h>

int main(void) {
    int *p = malloc(8);
    p[0] = 7;
    p[1] = 8;
    p = realloc(p, 12);
    p[2] = p[0] + p[1]; // HOLDS
    p = realloc(p, 4);
    int *q = p[0] == 7 ? p : 0;
    *q = 1; // HOLDS
    free(p);
    free(realloc(0, 3));
}

// property: no-uninitialised-read
#include <stdlib.h>

int main(void) {
    int *p = calloc(2, sizeof *p);
    p = realloc(p, 3 * sizeof *p);
    int sum = p[0] + p[1];
    sum += p[2]; // VIOLATED
    free(p);
    return sum;
}

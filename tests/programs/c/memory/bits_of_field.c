// property: valid-memsafety
#include <stdlib.h>

struct fields {
    unsigned x : 3;
    int y : 9;
    unsigned z : 20;
};

int main(void) {
    struct fields *p = malloc(2);
    p->x = 1; // HOLDS
    p->y = -2; // HOLDS
    int *q = p->y == -2 && p->x == 1 ? malloc(4) : 0;
    *q = 1; // HOLDS
    free(q);
    free(p);
}

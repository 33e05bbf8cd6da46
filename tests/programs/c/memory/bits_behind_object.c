// property: valid-memsafety
// subproperty: valid-deref
#include <stdlib.h>

struct fields {
    unsigned x : 3;
    int y : 9;
    unsigned z : 20;
};

int main(void) {
    struct fields *p = malloc(2);
    p->z = 1; // VIOLATED
    free(p);
}

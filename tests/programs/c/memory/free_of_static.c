// property: valid-memsafety
// subproperty: valid-free
#include <stdlib.h>
int g;

int main(void) {
    void *p = &g;
    free(p); // VIOLATED
}

// property: valid-memsafety
// subproperty: valid-memtrack
#include <stdlib.h>

int main(void) {
    int *p = malloc(4);
    p = 0;
    abort(); // VIOLATED
}

// property: valid-memsafety
// subproperty: valid-memtrack
#include <stdlib.h>

static void leave(void) {
    exit(0); // VIOLATED
}

int main(void) {
    {
        int *p = malloc(4);
        *p = 1;
    }
    leave(); // in the block of the IR that returns
    return 0;
}

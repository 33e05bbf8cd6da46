// property: valid-memsafety
// subproperty: valid-memtrack
#include <stdint.h>
#include <stdlib.h>

static void leave(void) {
    exit(0); // VIOLATED
}

int main(void) {
    {
        uintptr_t p = (uintptr_t)malloc(4);
        p++;
    }
    leave();
    return 0;
}

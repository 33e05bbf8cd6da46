// property: valid-memsafety
// subproperty: valid-free
#include <stdlib.h>
#include <alloca.h>

int main(void) {
    void *p = alloca(4);
    free(p); // VIOLATED
}

// property: valid-memsafety
// subproperty: valid-free
#include <stdlib.h>

int main(void) {
    void *p = "abc";
    free(p); // VIOLATED
}

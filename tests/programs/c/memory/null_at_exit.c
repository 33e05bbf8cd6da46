// property: valid-memsafety
// subproperty: valid-deref
#include <stdlib.h>

static void (*last)(void);

int main(void) { // VIOLATED where it returns
    atexit(last);
    return 0;
}

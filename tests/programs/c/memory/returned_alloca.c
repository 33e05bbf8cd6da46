// property: valid-memsafety
// subproperty: valid-deref
#include <alloca.h>

static int *local(int large) {
    int *p = 0;
    if (large) p = alloca(8);
    return p;
}

int main(void) {
    int *p = local(1);
    *p = 1; // VIOLATED
}

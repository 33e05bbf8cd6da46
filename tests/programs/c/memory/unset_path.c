// property: valid-memsafety
// subproperty: valid-deref
#include <fcntl.h>

int main(void) {
    char *path = 0;
    return openat(0, path, 0); // VIOLATED
}

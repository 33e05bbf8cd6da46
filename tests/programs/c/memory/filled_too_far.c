// property: valid-memsafety
// subproperty: valid-deref
#include <string.h>

int main(void) {
    char b[80];
    memset(b, 0, 81); // VIOLATED
}

// property: valid-memsafety
// subproperty: valid-deref
#include <string.h>

int main(void) {
    char b[3];
    strcpy(b, "abc"); // VIOLATED
}

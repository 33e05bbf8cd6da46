// property: valid-memsafety
// subproperty: valid-deref
#include <stdio.h>

int main(void) {
    FILE *file = fopen("data", "r");
    return fgetc(file); // VIOLATED
}

// property: valid-memsafety
// subproperty: valid-memtrack
#include <stdlib.h>

union word {
    void *pointer;
    char bytes[sizeof(void *)];
} word;

int main(void) {
    word.pointer = malloc(4);
    for (unsigned i = 0; i < sizeof word; i++) word.bytes[i] = 0;
} // VIOLATED

// property: valid-memcleanup
#include <stdlib.h>

int *global;

int main(void) {
    global = malloc(4);
} // VIOLATED

// property: valid-memcleanup
#include <stdlib.h>

int *global;

void clean(void) {
    free(global);
}

int main(void) {
    atexit(clean);
    global = malloc(4); // HOLDS
}

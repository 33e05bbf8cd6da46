// property: valid-memsafety
#include <stdlib.h>

static void leave(void) {
    int *mine = malloc(4);
    *mine = 2; // HOLDS
    exit(0);
}

int main(void) {
    int *p = malloc(4);
    *p = 1; // HOLDS
    leave();
}

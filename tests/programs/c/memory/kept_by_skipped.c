// property: valid-memsafety
#include <stdlib.h>

static void leave(int *p) {
    if (*p == 1) exit(0); // HOLDS
    free(p);
}

int main(void) {
    switch (1) {
        int *p;
    case 1:
        p = malloc(4);
        *p = 1;
        leave(p);
    }
    return 0;
}

// property: valid-memsafety
#include <stdlib.h>

static void leave(int *p) {
    exit(*p); // HOLDS
}

int main(void) {
    switch (2) {
        int *p;
    case 2:
        p = malloc(4);
        *p = 0;
        switch (0) {
            int *p;
        case 0:
            p = malloc(4);
            free(p); // HOLDS
        }
        leave(p);
    }
    return 0;
}

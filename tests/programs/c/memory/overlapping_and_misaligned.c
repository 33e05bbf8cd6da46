// property: valid-memsafety
#include <stdlib.h>
#include <string.h>

struct s {
    int a[2], b;
};

int main(void) {
    struct s s;
    char *p = malloc(8);
    memset(p, 0, 8);
    memcpy(p + 1, p, 4); // HOLDS
    int *q = (int *)(p + 1), i = 2;
    *q = 1; // HOLDS
    s.a[i] = 3; // HOLDS
    free(p);
}

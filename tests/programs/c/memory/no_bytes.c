// property: valid-memsafety
#include <stdlib.h>
#include <string.h>

int main(void) {
    int n = 0;
    char *p = malloc(0), *q = 0, a[n];
    memcpy(p, q, 0); // HOLDS
    memset(a, 1, n);
    for (int i = 0; i < n; i++) a[i] = 1;
    free(p);
}

// property: valid-memsafety
#include <stdlib.h>
#include <string.h>

char bytes[sizeof(void *)];

int main(void) {
    void *p = malloc(4), *q;
    memcpy(bytes, &p, sizeof p);
    p = 0;
    memcpy(&q, bytes, sizeof q);
    free(q); // HOLDS
}

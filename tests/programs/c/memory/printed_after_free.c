// property: valid-memsafety
// subproperty: valid-deref
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *s = strdup("x");
    free(s);
    printf("%d %s", 1, s); // VIOLATED
}

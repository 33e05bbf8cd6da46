// property: valid-memsafety
// subproperty: valid-memtrack
#include <stdlib.h>

int main(void) {
    int round = 0;
again:;
    int *p;
    if (round == 1) exit(0); // VIOLATED
    p = malloc(4);
    round = 1;
    goto again;
}

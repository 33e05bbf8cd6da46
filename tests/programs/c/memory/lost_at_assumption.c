// property: valid-memsafety
#include <stdlib.h>
extern void __VERIFIER_assume(int);

int main(void) {
    int *p = malloc(4);
    *p = 1; // HOLDS
    p = 0;
    __VERIFIER_assume(0);
}

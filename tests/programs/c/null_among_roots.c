// property: valid-memsafety
// decided-by: bmc
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

static char *names[2];

static void add(int at) {
    names[at] = malloc(4 + at);
    names[at][at] = 'a'; // HOLDS
}

int main(void) {
    add(0);
    if (__VERIFIER_nondet_int())
        add(1);
    free(names[0]); // HOLDS
    free(names[1]); // HOLDS
}

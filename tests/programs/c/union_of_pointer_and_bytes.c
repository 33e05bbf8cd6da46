// property: valid-memsafety
// decided-by: bmc
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

union word {
    void *address;
    struct {
        char bytes[2];
        int *others[2];
    } parts;
};

int main(void) {
    union word word;
    word.address = malloc(8); // HOLDS
    word.parts.others[1] = __VERIFIER_nondet_int() ? malloc(4) : 0;
    if (word.parts.others[1] == word.address)
        word.parts.bytes[1] = 1;
    free(word.parts.others[1]);
    free(word.address); // HOLDS
}

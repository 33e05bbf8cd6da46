// property: valid-memtrack
// decided-by: bmc
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
int main(void) {
    int *older = 0, round = 0;
    while (round < 2) {
        int *cell = malloc(sizeof *cell);
        if (round == 0) {
            older = cell;
            free(older);
        }
        cell = 0;
        round++;
    }
    return 0;
} // VIOLATED

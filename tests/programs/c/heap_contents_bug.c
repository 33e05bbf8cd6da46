#include <assert.h>
#include <stdlib.h>

struct state {
    int phase, *data;
};

extern int __VERIFIER_nondet_int(void);

int main(void) {
    struct state *state = malloc(sizeof *state);
    int unset[3], i = __VERIFIER_nondet_int();
    state->data = malloc(2 * sizeof(int));
    if (i < 0 || i > 2)
        return 0;
    assert(state->phase != 0 || state->data[1] != 0 || unset[i] != i || i != 0); // VIOLATED
    return 0;
}

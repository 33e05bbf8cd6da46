#include <assert.h>
#include <stdlib.h>

struct state {
    int phase;
    char mark;
};

static int sum_of_new(void) {
    int cells[2];
    return cells[0] - cells[1];
}

int main(void) {
    struct state *state = malloc(sizeof *state);
    struct state *clear = calloc(1, sizeof *clear);
    assert(clear->phase == 0 && clear->mark == 0); // HOLDS
    int first = sum_of_new(), second = sum_of_new();
    assert(state->phase != 8464 || state->mark != 'x' || first != 5 || second != 7); // VIOLATED
    return 0;
}

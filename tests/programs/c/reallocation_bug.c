// decided-by: bmc
#include <assert.h>
#include <stdlib.h>

struct numbers {
    unsigned room;
    int *first;
};

static void grow(struct numbers *n) {
    n->room = n->room ? 2 * n->room : 1;
    n->first = realloc(n->first, n->room * sizeof(int));
}

int main(void) {
    struct numbers numbers = {0, NULL};
    grow(&numbers);
    numbers.first[0] = 5;
    grow(&numbers);
    assert(numbers.room != 2 || numbers.first[0] != 5); // VIOLATED
}

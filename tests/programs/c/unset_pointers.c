// decided-by: predicate linear
#include <assert.h>
#include <stdlib.h>

struct link {
    int *to;
};

static int *nothing(int k) {
    if (k)
        return 0;
}

int main(void) {
    int *unset, *result = nothing(0);
    struct link *heap = malloc(sizeof *heap);
    heap->to = unset;
    assert(heap->to == unset); // HOLDS
    heap->to = result;
    assert(heap->to == result); // HOLDS
    assert((int *)(unsigned long)unset == unset); // HOLDS
    return 0;
}

// decided-by: bmc kind clp
#include <assert.h>
#include <stdlib.h>

static int left = 1;

static void check(void) {
    assert(left); // VIOLATED
}

int main(void) {
    atexit(check);
    left = 0;
    exit(0);
}

#include <assert.h>
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

static int order;

static void last(void) {
    assert(order == 12); // HOLDS
}

static void first(void) {
    order = 1;
}

static void second(void) {
    order = order * 10 + 2;
}

static void leave(int code) {
    exit(code);
}

int main(void) {
    atexit(last);
    atexit(second);
    if (atexit(first))
        abort();
    if (__VERIFIER_nondet_int())
        leave(1);
    return 0;
}

#include <assert.h>
extern int __VERIFIER_nondet_int(void);
int calls;
static int tell(int value) {
    calls++;
    return value;
}

int main(void) {
    int x = __VERIFIER_nondet_int();
    int y = tell(x > 5) && tell(x < 10);
    assert(!y || calls == 2); // HOLDS
    assert(y || calls == 2); // VIOLATED
}

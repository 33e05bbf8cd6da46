// decided-by: bmc spacer
#include <assert.h>

int calls;
static int tell(int value) {
    calls++;
    return value;
}

int main(void) {
    int *p = 0;
    if (p && *p) calls = 100;
    int a = tell(0) && tell(1), b = tell(2) || tell(0);
    assert(a == 0 && b == 1 && calls == 2); // HOLDS
    int c = tell(0) || (tell(1) && !tell(0));
    assert(c == 1 && calls == 5); // HOLDS
    int d = calls > 4 ? tell(7) : tell(8) + tell(9);
    assert(d == 7 && calls == 6); // HOLDS
    int e = tell(3) ?: tell(4);
    assert(e == 3 && calls == 7); // HOLDS
    assert((tell(0), tell(5)) == 5); // HOLDS
}

#include <assert.h>
extern int __VERIFIER_nondet_int(void);
static int calls;
static int tell(int value) { calls++; return value; }
int main(void) {
    int x = __VERIFIER_nondet_int(), *p = 0;
    int y = x > 2 ? tell(x) : -1;
    int z = !p || *p ? tell(1) && !tell(0) : 5;
    if (!(x < 0) && (y > 0 || tell(2)) && z)
        assert(calls > 3 || !z);
    int w = (x += 2, x * 3) % 4;
    assert(w == x++ - 2);
    return 0;
}

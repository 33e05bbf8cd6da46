// decided-by: kind predicate
#include <assert.h>
extern unsigned __VERIFIER_nondet_uint(void);
struct s { unsigned low : 4; unsigned high : 4; };

int main(void) {
    unsigned x = __VERIFIER_nondet_uint();
    struct s v = {1, 2};
    v.low = x;
    assert(v.high == 2); // HOLDS
    assert(v.low == x || x > 20); // VIOLATED
}

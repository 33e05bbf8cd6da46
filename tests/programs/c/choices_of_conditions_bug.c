// decided-by: kind predicate
// The value of `&&` or `||` decides a `?:`, as an integer and not as a condition: Clang computes it in a block
// of its own.
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
struct pair { int first, second; } pair;
int chosen[4];

int main(void) {
    int i = __VERIFIER_nondet_int();
    struct pair *p = &pair;
    p->second = __VERIFIER_nondet_int();
    chosen[1] = (int)(i && p->second) ? i : 4;
    assert(chosen[1] != 0); // HOLDS
    chosen[2] = +(i || p->second) ? p->second : 7;
    assert(chosen[2] != 7 || p->second == 7 || p->second == i); // HOLDS
    chosen[3] = +(i == 3 && p->second == 5) ? i : 2;
    assert(chosen[3] != 3); // VIOLATED
}

// decided-by: bmc linear spacer
#include <assert.h>
extern int __VERIFIER_nondet_int(void);

static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static int three(int a, int b, int c) { return a + b + c; }
typedef int (*operation)(int, int);
struct entry { char name; operation run; };
struct entry entries[] = {{'+', add}, {'-', sub}};
int (*unused)(int, int, int) = three;

static int apply(operation f, int a, int b) { return f(a, b); }

int main(void) {
    assert((*add)(1, 2) == 3 && (&sub)(5, 1) == 4); // HOLDS
    operation f = __VERIFIER_nondet_int() ? add : sub;
    int r = apply(f, 5, 3);
    assert(r == 8 || r == 2); // HOLDS
    assert(f == add || r == 2); // HOLDS
    assert(entries[1].run(9, 4) == 5 && entries[0].run != sub); // HOLDS
    assert(unused(1, 2, 3) == 6); // HOLDS
}

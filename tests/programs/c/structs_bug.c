#include <assert.h>
extern int __VERIFIER_nondet_int(void);
struct pair { int a; int b; };

static void set(struct pair p, int v) { p.a = v; }
static void really_set(struct pair *p, int v) { p->a = v; }

int main(void) {
    struct pair p = {1, 2};
    set(p, 5);
    assert(p.a == 1); // HOLDS
    int v = __VERIFIER_nondet_int();
    really_set(&p, v);
    assert(p.a != p.b); // VIOLATED
}

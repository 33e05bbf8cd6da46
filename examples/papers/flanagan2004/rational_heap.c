/* HOLDS: the program Rational (Flanagan 2004, Figure 1) with an object for each round of the loop */
#include <assert.h>
#include <stdlib.h>

extern int __VERIFIER_nondet_int(void);

struct rational {
    int n, d;
};

struct rational *create(int x, int y)
{
    struct rational *r = malloc(sizeof *r);
    r->n = x;
    r->d = y;
    return r;
}

int trunc_of(struct rational *r)
{
    assert(r->d != 0);
    return r->n / r->d;
}

int main(void)
{
    int x = __VERIFIER_nondet_int();
    int y = __VERIFIER_nondet_int();
    if (y <= 0)
        return 0;
    struct rational *r = create(x, y);
    for (int i = 0; i < 100000; i++) {
        trunc_of(r);
        r = create(x, y);
    }
    return 0;
}

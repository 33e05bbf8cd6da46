#include <assert.h>
extern int __VERIFIER_nondet_int(void);
static int inc(int x) { return x + 1; }
static int twice(int x) { return 2 * x; }
struct step { char name; int (*run)(int); };
static const struct step steps[] = {{'i', inc}, {'t', twice}};
int main(void) {
    int (*first)(int) = __VERIFIER_nondet_int() ? inc : twice;
    int x = first(3);
    for (int i = 0; i < 2; i++)
        x = steps[i].run(x);
    assert(x != 10 && x != 14);
    return 0;
}

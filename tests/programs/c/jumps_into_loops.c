#include <assert.h>

extern int __VERIFIER_nondet_int(void);

static int second_entry(int inside) {
    int i = 0, sum = 0;
    if (inside) goto in;
    while (i < 4) {
        sum += 2;
    in:
        sum += 1;
        i++;
    }
    return sum;
}

static int irreducible(int left) {
    int rounds = 0;
    if (left & 1) goto two;
one:
    rounds += 10;
two:
    rounds += 1;
    if (--left > 0) goto one;
    return rounds;
}

int main(void) {
    int a = __VERIFIER_nondet_int();
    if (a < 0 || a > 3) return 0;
    assert(second_entry(a > 1) == (a > 1 ? 10 : 12)); // HOLDS
    int found = irreducible(a);
    assert(found == (a == 0 ? 11 : a == 1 ? 1 : a == 2 ? 22 : 23)); // HOLDS
}

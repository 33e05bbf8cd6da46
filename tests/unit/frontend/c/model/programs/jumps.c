#include <assert.h>
extern int __VERIFIER_nondet_int(void);
int main(void) {
    int n = __VERIFIER_nondet_int(), rounds = 0;
    do {
        rounds++;
        if (rounds == 2) continue;
        if (rounds > 3) break;
    } while (rounds < n);
again:
    if (n > 0) {
        n--;
        goto again;
    }
    switch (rounds) {
    case 1: case 2: rounds = 20; break;
    case 3: rounds = 30;
    default: rounds++;
    }
    while (1)
        if (++n == 2) break;
    assert(rounds == 5 || n != 2);
    return 0;
}

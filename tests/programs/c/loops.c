// decided-by: bmc predicate linear
#include <assert.h>

int main(void) {
    int i, sum = 0, rounds = 0;
    for (i = 0; i < 10; i++) {
        if (i == 3) continue;
        if (i == 7) break;
        sum += i;
    }
    assert(i == 7 && sum == 18); // HOLDS
    do {
        rounds++;
        if (rounds == 2) continue;
    } while (rounds < 3);
    assert(rounds == 3); // HOLDS
    while (1) {
        if (--rounds == 0) break;
    }
    for (;;) {
        if (++rounds > 4) goto out;
    }
out:
    assert(rounds == 5); // HOLDS
}

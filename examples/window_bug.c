/* The largest sum of two neighbours: wrong if the last two are the largest. */
#include <assert.h>

extern int __VERIFIER_nondet_int(void);

#define N 5

int main(void) {
    int a[N];
    for (int i = 0; i < N; i++) {
        a[i] = __VERIFIER_nondet_int();
        if (a[i] < -100 || a[i] > 100) return 0;
    }
    int best = a[0] + a[1];
    for (int i = 1; i + 2 < N; i++) {
        int sum = a[i] + a[i + 1];
        if (sum > best) best = sum;
    }
    for (int i = 0; i + 1 < N; i++) assert(a[i] + a[i + 1] <= best);
}

#include <assert.h>

extern int __VERIFIER_nondet_int(void);

static int corner(int n, int m, int a[n][m]) { return a[n - 1][m - 1]; }

int main(void) {
    int n = 2, m = __VERIFIER_nondet_int();
    if (m < 1 || m > 2) return 0;
    int a[n][m];
    int size = sizeof a, row = sizeof a[0];
    assert(size == 4 * n * m && row == 4 * m); // HOLDS
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) a[i][j] = 10 * i + j;
    assert(corner(n, m, a) == 10 * (n - 1) + m - 1); // HOLDS
    n = m = 0;
    assert(sizeof a == size); // HOLDS
}

#include <assert.h>

int table[3][4];
const int primes[] = {2, 3, 5, 7, 11};

int main(void) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) table[i][j] = 10 * i + j;
    assert(table[2][3] == 23 && *(*(table + 1) + 2) == 12); // HOLDS
    assert(sizeof primes / sizeof primes[0] == 5 && primes[4] == 11); // HOLDS
    int a[6] = {1, [3] = 4, 5};
    assert(a[0] == 1 && a[1] == 0 && a[3] == 4 && a[4] == 5 && a[5] == 0); // HOLDS
    int *end = a + 6, sum = 0;
    for (int *p = a; p != end; ++p) sum += *p;
    assert(sum == 10 && &a[4] - &a[1] == 3 && a < end); // HOLDS
    assert(2 [a] == 0); // HOLDS
}

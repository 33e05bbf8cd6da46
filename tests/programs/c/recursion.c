#include <assert.h>

static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static int even(unsigned n);
static int odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }
static int even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
static void fill(int *a, int n) {
    if (n == 0) return;
    int local = n;
    int *p = &local;
    fill(a + 1, n - 1);
    *a = *p;
}

int main(void) {
    assert(fib(10) == 55 && even(8) && !even(7)); // HOLDS
    int a[4];
    fill(a, 4);
    assert(a[0] == 4 && a[3] == 1); // HOLDS
}

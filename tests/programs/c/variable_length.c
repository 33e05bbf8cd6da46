// decided-by: bmc spacer
#include <assert.h>
#include <alloca.h>

static int last(int n) {
    int a[n];
    for (int i = 0; i < n; i++) a[i] = i;
    return a[n - 1];
}

int main(void) {
    assert(last(3) == 2 && last(1) == 0); // HOLDS
    int total = 0;
    for (int n = 1; n < 4; n++) {
        char b[n];
        b[n - 1] = n;
        if (n == 2) continue;
        total += b[n - 1];
    }
    assert(total == 4); // HOLDS
    int *p = alloca(2 * sizeof(int));
    p[1] = 6;
    assert(p[1] == 6); // HOLDS
}

#include <assert.h>

int main(void) {
    int n = 0, *seen = 0;
again:
    {
        int local[2];
        if (n == 0) seen = 0;
        local[0] = n;
        seen = local;
        n++;
        if (n < 3) goto again;
        assert(*seen == 2); // HOLDS
    }
    goto inside;
    {
        int other;
        other = 100;
    inside:
        other = 5;
        n += other;
        int *q = &other;
        *q = 7;
        n += other;
    }
    assert(n == 15); // HOLDS
}

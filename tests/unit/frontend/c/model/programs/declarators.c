#include <assert.h>
extern int __VERIFIER_nondet_int(void);
int main(void) {
    int a = 1, *p = &a, b[2] = {a, 7}, c;
    unsigned char u = 250, v = u + 10;
    c = b[1] - *p;
    for (int i = 0, j = 2; i < j; i++, j--)
        c += i;
    assert(c == 6 && v != 4);
    return 0;
}

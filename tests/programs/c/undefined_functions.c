#include <assert.h>
#include <stdio.h>
extern int unknown(int);
extern void writes(int *, const int *);

int main(void) {
    int a = 1, b = 2;
    writes(&a, &b);
    assert(b == 2); // HOLDS
    printf("%d\n", a);
    int x = unknown(3);
    assert(x == x); // HOLDS
    assert(a == 1); // VIOLATED
}

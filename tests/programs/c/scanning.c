#include <assert.h>
#include <stdio.h>

int main(void) {
    int n = 1, untouched = 2;
    unsigned char c = 3;
    if (scanf("%d %hhu", &n, &c) != 2) return 0;
    assert(c <= 255 && untouched == 2); // HOLDS
    assert(n == 1); // VIOLATED
}

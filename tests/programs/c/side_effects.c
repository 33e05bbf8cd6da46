#include <assert.h>

int g;
static int bump(void) { return ++g; }

int main(void) {
    int x = 3, a[4] = {0, 0, 0, 0}, i = 0;
    int y = x++ * 2 + --x;
    assert(x == 3 && y == 9); // HOLDS
    a[i++] = i;
    a[i++] += 5;
    assert(i == 2 && a[1] == 5); // HOLDS
    int before = g; // which operand of `g + bump()` comes first is left open
    before += bump();
    assert(before == 1 && g == 1); // HOLDS
    int *p = a;
    *p++ = 10;
    *++p = 30;
    assert(a[0] == 10 && a[2] == 30 && p - a == 2); // HOLDS
    x = y = 4;
    assert((x += y -= 1) == 7 && y == 3); // HOLDS
}

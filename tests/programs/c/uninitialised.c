#include <assert.h>

int main(void) {
    int x, y = 1;
    if (y) x = 2;
    assert(x == 2); // HOLDS
    int z;
    assert(z != 5); // VIOLATED
}

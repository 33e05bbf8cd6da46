#include <assert.h>

int x, y;
__attribute__((constructor)) static void second(void) { x = x * 10 + 2; }
__attribute__((constructor(200))) void first(void) { x = x * 10 + 1; }
__attribute__((constructor)) void third(void) { x = x * 10 + 3; }
__attribute__((destructor)) void last(void) {
    assert(y == 3 && x == 123); // HOLDS
}
__attribute__((destructor)) void before(void) { y = 3; }

int main(void) {
    assert(x == 123); // HOLDS
}

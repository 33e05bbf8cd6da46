#include <assert.h>
#include <string.h>

int isdigit(int c);

int main(void) {
    assert(strcmp("b", "a") > 0 && strcmp("a", "b") < 0 && strcmp("a", "a") == 0); // HOLDS
    assert(memcmp("a1", "a2", 2) < 0 && isdigit('7') && !isdigit('x')); // HOLDS
    return 0;
}

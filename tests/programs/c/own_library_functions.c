// The bodies of a program count, also if compilers know functions with these names.
#include <assert.h>
#include <stddef.h>

int abs(int x) { return x; }
size_t strlen(const char *s) { return s[0] == 'a' ? 42 : 0; }

int main(void) {
    assert(abs(-3) == -3); // HOLDS
    assert(strlen("a") == 42); // HOLDS
    return 0;
}

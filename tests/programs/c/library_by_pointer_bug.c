#include <assert.h>
#include <stdio.h>

static unsigned char bytes[8];

int main(void) {
    size_t (*reader)(void *, size_t, size_t, FILE *) = fread;
    size_t count = reader(bytes, 4, 1, stdin);
    assert(count <= 1 && bytes[4] == 0); // HOLDS
    assert(count != 1 || bytes[3] == 0); // VIOLATED
    return 0;
}

#include <assert.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

static int is_at(const void *p, uintptr_t alignment) { return ((uintptr_t)p & (alignment - 1)) == 0; }

int main(void) {
    _Alignas(128) char local[3];
    void *into = NULL;
    posix_memalign(&into, 32, 5);
    assert(is_at(local, 128) && is_at(into, 32)); // HOLDS
    assert(is_at(aligned_alloc(64, 64), 64) && is_at(memalign(2, 3), 2) && is_at(valloc(8), 4096)); // HOLDS
    assert(is_at(__builtin_alloca_with_align(10, 512), 64) && is_at(__builtin_alloca(3), 16)); // HOLDS
    return 0;
}

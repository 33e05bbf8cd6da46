#include <assert.h>

typedef int handler(int);
extern handler *find(int); // defined elsewhere, as is the function it finds

static int zero(int x) { return x - x; }

int main(void) {
    handler *own = zero;
    assert(own(3) == 0); // HOLDS
    handler *found = find(1);
    int result = found ? found(3) : 0;
    assert(result == 0); // VIOLATED
    return 0;
}

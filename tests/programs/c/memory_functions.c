// decided-by: bmc kind predicate
#include <assert.h>
#include <string.h>

struct big { int a[100]; char tail; };

int main(void) {
    int a[5], b[5] = {1, 2, 3, 4, 5};
    memcpy(a, b, sizeof a);
    assert(a[4] == 5); // HOLDS
    memset(a, 0, sizeof a);
    assert(a[0] == 0 && a[4] == 0); // HOLDS
    memset(b, 0xff, 2 * sizeof(int));
    assert(b[1] == -1 && b[2] == 3); // HOLDS
    struct big x = {{1, 2}, 't'}, y;
    x.a[99] = 8;
    y = x;
    assert(y.a[1] == 2 && y.a[99] == 8 && y.a[50] == 0 && y.tail == 't'); // HOLDS
}

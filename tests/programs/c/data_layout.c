#include <assert.h>
struct s { char c; long l; short h; } __attribute__((packed));
struct t { char c; int i; char d; };
struct list { int n; int items[]; };

int main(void) {
    assert(sizeof(struct s) == 1 + sizeof(long) + 2 && sizeof(struct t) == 12); // HOLDS
    struct t a[2] = {{1, 2, 3}, {4, 5, 6}};
    assert(a[1].d == 6 && (char *)&a[1] - (char *)a == 12); // HOLDS
    unsigned char *bytes = (unsigned char *)&a[0].i;
    assert(bytes[0] == 2 && bytes[3] == 0); // HOLDS
    bytes[1] = 1;
    assert(a[0].i == 258); // HOLDS
    struct s p = {1, -2, 3};
    assert(p.l == -2 && p.h == 3); // HOLDS
}

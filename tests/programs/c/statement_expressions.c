// decided-by: bmc linear clp
#include <assert.h>

#define MAX(a, b) ({ int _a = (a), _b = (b); _a > _b ? _a : _b; })
struct pair { int a, b; };

int main(void) {
    int x = 3, y = 4;
    assert(MAX(x++, y) == 4 && x == 4); // HOLDS
    struct pair p = ({ struct pair q = {x, y}; q.a++; q; });
    assert(p.a == 5 && p.b == 4); // HOLDS
    int s = 0;
    for (int i = 0; i < 3; i++) s += ({ if (i == 1) continue; i; });
    assert(s == 2); // HOLDS
    struct pair *lit = &(struct pair){.b = 2};
    assert(lit->a == 0 && lit->b == 2); // HOLDS
}

#include <assert.h>
#include <stdbool.h>
extern _Bool __VERIFIER_nondet_bool(void);
enum colour { RED, GREEN = 5, BLUE };

int main(void) {
    bool b = 17;
    assert(b == 1 && (bool)0x100 == 1); // HOLDS
    b += 3;
    assert(b == 1); // HOLDS
    b--;
    assert(!b); // HOLDS
    bool any = __VERIFIER_nondet_bool();
    assert(any == 0 || any == 1); // HOLDS
    enum colour c = BLUE;
    assert(c == 6 && RED == 0 && sizeof(enum colour) == 4); // HOLDS
    int *p = &(int){3};
    bool set = p;
    assert(set && *p == 3); // HOLDS
}

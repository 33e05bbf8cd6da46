#include <assert.h>
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int x = __VERIFIER_nondet_int();
    unsigned char c = x;
    assert(c == x || x < 0 || x > 300); // VIOLATED
}

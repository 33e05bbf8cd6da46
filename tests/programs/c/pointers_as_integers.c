#include <assert.h>
#include <stdint.h>

extern int __VERIFIER_nondet_int(void);

struct pair {
    int x, y;
};

union word {
    int *pointer;
    uintptr_t bits;
};

static uintptr_t field(struct pair *p, int second) {
    uintptr_t bits = (uintptr_t)p;
    return second ? bits + sizeof(int) : bits;
}

int main(void) {
    struct pair pair = {1, 2};
    union word word;
    word.pointer = &pair.x;
    word.bits += sizeof(int); // the other member, by arithmetic on bits
    *word.pointer = 7;
    assert(pair.x == 1 && pair.y == 7); // HOLDS
    int second = __VERIFIER_nondet_int();
    int *p = (int *)field(&pair, second);
    *p = 9;
    assert(second ? pair.x == 1 && pair.y == 9 : pair.x == 9 && pair.y == 7); // HOLDS
    return 0;
}

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct flags {
    _Bool first;
    int number;
    _Bool more[3];
};

extern _Bool outside;
extern int __VERIFIER_nondet_int(void);
extern _Bool __VERIFIER_nondet_bool(void);

static _Bool nothing(int k) {
    if (k)
        return 0;
}

int main(void) {
    _Bool unset;
    struct flags *heap = malloc(sizeof *heap);
    assert(unset == 0 || unset == 1); // HOLDS
    assert(outside <= 1 && heap->first <= 1 && nothing(0) <= 1); // HOLDS
    assert(heap->more[__VERIFIER_nondet_bool()] <= 1); // HOLDS

    _Bool flag = __VERIFIER_nondet_int();
    heap->more[1] = 7;
    assert(heap->more[1] == 1 && flag + flag <= 2); // HOLDS
    flag++;
    assert(flag == 1); // HOLDS
    flag--;
    assert(flag == 0); // HOLDS
    flag += 256;
    assert(flag == 1 && ~flag == -2 && flag << 3 == 8); // HOLDS
    char byte = 1;
    memcpy(&heap->more[2], &byte, 1);
    assert(heap->more[2] && sizeof heap->more == 3); // HOLDS
    return 0;
}

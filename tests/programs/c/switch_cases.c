#include <assert.h>
extern int __VERIFIER_nondet_int(void);

static int classify(int x) {
    int result = 0;
    switch (x) {
    case 1:
        result = 10;
    case 2:
        result += 1;
        break;
    case -5 ... -1:
        result = -1;
        break;
    default:
        result = 99;
    case 50:
        result++;
    }
    return result;
}

int main(void) {
    assert(classify(1) == 11 && classify(2) == 1 && classify(50) == 1); // HOLDS
    int x = __VERIFIER_nondet_int();
    int r = classify(x);
    assert(r != -1 || (x >= -5 && x <= -1)); // HOLDS
    assert(r != 100 || x > 2 || x < -5 || x == 0); // HOLDS
}

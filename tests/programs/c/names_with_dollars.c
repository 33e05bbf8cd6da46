#include <assert.h>
#include <string.h>
extern int __VERIFIER_nondet_int(void);

static int $string1 = 4, $1 = 7, mem$text = 3;

static int twice(int $0, int $1) {
    int $2 = $0 * 2, $result = (int)strlen("abc");
    return $2 + $1 * 0 + $result + __VERIFIER_nondet_int() * 0;
}

int main(void) {
    assert($1 == 7 && $string1 == 4 && mem$text == 3); // HOLDS
    int $1 = 3, $2 = __VERIFIER_nondet_int(), x = $2, x$2 = 5;
    static int y = 8;
    int y$static = __VERIFIER_nondet_int();
    assert(y == 8 || y$static != 4); // HOLDS
    {
        int x = 6;
        assert(x == 6 && x$2 == 5); // HOLDS
    }
    assert(twice($1, $2) == 9 && $1 == 3 && $2 == x); // HOLDS
    return 0;
}

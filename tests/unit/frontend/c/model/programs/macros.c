#include <assert.h>
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
#define LIMIT 3
#define SQUARE(x) ((x) * (x))
#define CHECK(c) do { if (!(c)) reach_error(); } while (0)
int main(void) {
    int x = __VERIFIER_nondet_int();
    int y = SQUARE(x + 1);
    if (y > LIMIT)
        y = LIMIT;
    CHECK(y < LIMIT);
    return 0;
}

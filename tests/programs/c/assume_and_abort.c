#include <stdlib.h>
extern void reach_error(void);
extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assume(int);

int main(void) {
    int x = __VERIFIER_nondet_int();
    __VERIFIER_assume(x > 10);
    if (x < 5) reach_error(); // HOLDS
    if (x == 11) exit(0);
    if (x == 12) abort();
    if (x < 13) reach_error(); // HOLDS
}

/* VIOLATED: elements.c with one round more */
#include <assert.h>
extern int __VERIFIER_nondet_int(void);

int first, second;

int main(void) {
    int *chosen = __VERIFIER_nondet_int() ? &first : &second;
    for (int i = 0; i < 7; i++)
        *chosen = i;
    assert(first <= 5);
}

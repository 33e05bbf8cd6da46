// property: valid-memsafety
// decided-by: arrays
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct node { struct node *next; int value; };
static void wait(void) {
    for (;;) { } /* never reached, since allocations succeed; no error can follow, so engines ignore it */
}
int main(void) {
    struct node *list = malloc(sizeof *list), *last = list, *next;
    if (!list) wait();
    last->value = 1;
    while (__VERIFIER_nondet_int()) {
        next = malloc(sizeof *next);
        if (!next) wait();
        next->value = 1;
        last->next = next;
        last = next;
    }
    last->next = 0;
    while (list) {
        next = list->next;
        free(list);
        list = next;
    }
    return 0; // HOLDS
}

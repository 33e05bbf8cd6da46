// property: valid-memsafety
// decided-by: arrays
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct node { struct node *next; int last; };
int main(void) {
    struct node *list = malloc(sizeof *list), *end = list;
    while (__VERIFIER_nondet_int()) {
        if (__VERIFIER_nondet_int())
            end->last = 0;
        else
            end->last = 2;
        end->next = malloc(sizeof *end);
        end = end->next;
    }
    end->last = 1;
    end->next = 0;
    for (end = list; end->last != 1; end = end->next)
        ;
    while (list) {
        end = list->next;
        free(list);
        list = end;
    }
    return 0; // HOLDS
}

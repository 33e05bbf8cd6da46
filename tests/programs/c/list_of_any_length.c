// property: valid-memsafety
// decided-by: arrays
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct node { struct node *next; int value; };
int main(void) {
    struct node *list = 0, *node;
    while (__VERIFIER_nondet_int()) {
        node = malloc(sizeof *node);
        node->next = list;
        node->value = 1;
        list = node;
    }
    for (node = list; node; node = node->next)
        node->value = 2;
    while (list) {
        node = list->next;
        free(list);
        list = node;
    }
    return 0; // HOLDS
}

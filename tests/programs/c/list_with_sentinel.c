// property: valid-memsafety
// decided-by: arrays
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct node { struct node *next; int last; };
int main(void) {
    struct node *sentinel = malloc(sizeof *sentinel);
    sentinel->next = 0;
    sentinel->last = 1;
    struct node *list = sentinel, *node;
    while (__VERIFIER_nondet_int()) {
        node = malloc(sizeof *node);
        node->next = list;
        node->last = 0;
        list = node;
    }
    while (list != sentinel) {
        node = list->next;
        free(list);
        list = node;
    }
    free(sentinel);
    return 0; // HOLDS
}

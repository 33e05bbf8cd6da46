// property: valid-memsafety
// decided-by: arrays
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct data { int x; };
struct node { struct node *next; struct data *data; };
int main(void) {
    struct node *list = 0, *node;
    while (__VERIFIER_nondet_int()) {
        node = malloc(sizeof *node);
        node->data = malloc(sizeof(struct data));
        node->data->x = 1;
        node->next = list;
        list = node;
    }
    while (list) {
        node = list->next;
        free(list->data);
        free(list);
        list = node;
    }
    return 0; // HOLDS
}

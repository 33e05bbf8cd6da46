// property: valid-memsafety
// decided-by: arrays
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct node { struct node *next, *prev; };
int main(void) {
    struct node *head = 0, *node;
    while (__VERIFIER_nondet_int()) {
        node = malloc(sizeof *node);
        node->next = head;
        node->prev = 0;
        if (head) head->prev = node;
        head = node;
    }
    /* remove one in the middle */
    node = head;
    while (node && __VERIFIER_nondet_int()) node = node->next;
    if (node) {
        if (node->next) node->next->prev = node->prev;
        if (node->prev) node->prev->next = node->next; else head = node->next;
        free(node);
    }
    while (head) {
        node = head->next;
        free(head);
        head = node;
    }
    return 0; // HOLDS
}

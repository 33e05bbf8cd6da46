// property: valid-memsafety
// decided-by: arrays
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct node { struct node *next; int value; };
int main(void) {
    struct node *head = malloc(sizeof *head);
    head->next = 0; head->value = 0;
    struct node *end = head;
    while (__VERIFIER_nondet_int()) {
        end->next = malloc(sizeof *end);
        end = end->next;
        end->next = 0;
        end->value = 3;
    }
    for (end = head; end; end = end->next)
        end->value++;
    while (head) {
        end = head;
        head = head->next;
        free(end);
    }
    return 0; // HOLDS
}

#include <assert.h>
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);

struct node { int value; struct node *next; };

int main(void) {
    struct node *head = NULL;
    for (int i = 0; i < 3; i++) {
        struct node *n = malloc(sizeof *n);
        n->value = i;
        n->next = head;
        head = n;
    }
    int sum = 0, length = 0;
    while (head) {
        struct node *next = head->next;
        sum += head->value;
        length++;
        free(head);
        head = next;
    }
    assert(sum == 3 && length == 3); // HOLDS
    int *zeros = calloc(4, sizeof(int));
    assert(zeros[0] == 0 && zeros[3] == 0); // HOLDS
    free(zeros);
    free(NULL);
}

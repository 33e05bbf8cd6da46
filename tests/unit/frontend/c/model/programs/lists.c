#include <assert.h>
#include <stdlib.h>
struct node { int value; struct node *next; int weights[2]; };
static struct node *push(struct node *head, int value) {
    struct node *fresh = malloc(sizeof *fresh);
    fresh->value = value;
    fresh->weights[1] = -value;
    fresh->next = head;
    return fresh;
}
static int total(const struct node *list) {
    return list == 0 ? 0 : list->value + total(list->next);
}
int main(void) {
    struct node *list = push(push(0, 3), 4);
    int sum = total(list);
    list->next->weights[0] = sum;
    while (list && list->weights[1] < 0)
        list = list->next;
    assert(sum != 7);
    return 0;
}

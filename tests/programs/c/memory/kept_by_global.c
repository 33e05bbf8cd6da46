// property: valid-memsafety
#include <stdlib.h>

struct node {
    struct node *next;
    char data[4];
} *list;
char *end;

int main(void) {
    list = malloc(sizeof *list);
    list->next = malloc(sizeof *list); // HOLDS
    list->next->next = 0;
    char *other = malloc(3);
    end = other + 3;
}

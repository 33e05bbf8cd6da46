#include <assert.h>
#include <stddef.h>

static void swap(int *a, int *b) {
    int t = *a;
    *a = *b;
    *b = t;
}

struct item { int key; struct item *next; };

int main(void) {
    int x = 1, y = 2, *p = &x, **pp = &p;
    swap(&x, &y);
    assert(x == 2 && y == 1); // HOLDS
    *pp = &y;
    **pp = 7;
    assert(y == 7 && p != &x && p == &y); // HOLDS
    struct item c = {3, NULL}, b = {2, &c}, a = {1, &b};
    int sum = 0;
    for (struct item *i = &a; i; i = i->next) sum = 10 * sum + i->key;
    assert(sum == 123); // HOLDS
    int *key = &b.key;
    struct item *owner = (struct item *)((char *)key - offsetof(struct item, key));
    assert(owner->next == &c); // HOLDS
    unsigned long bits = (unsigned long)&x;
    assert(*(int *)bits == 2); // HOLDS
}

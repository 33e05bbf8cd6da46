// property: valid-memsafety
// decided-by: arrays
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
struct item { struct item *next; };
struct queue { struct item *first, *last; };
static struct queue q;
static void put(void) {
    struct item *i = malloc(sizeof *i);
    i->next = 0;
    if (q.last) q.last->next = i; else q.first = i;
    q.last = i;
}
static void get(void) {
    struct item *i = q.first;
    if (!i) return;
    q.first = i->next;
    if (!q.first) q.last = 0;
    free(i);
}
int main(void) {
    while (__VERIFIER_nondet_int()) {
        if (__VERIFIER_nondet_int()) put(); else get();
    }
    while (q.first) get();
    return 0; // HOLDS
}

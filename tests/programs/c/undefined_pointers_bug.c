#include <assert.h>

struct record {
    int number;
};

struct record *find(struct record *in);
struct record *fetch(void);

static struct record secret = {1};

int main(void) {
    struct record own = {3}, *hidden = &secret;
    struct record *p = fetch();
    if (p)
        p->number = 5;
    assert(hidden->number == 1); // HOLDS
    struct record *q = find(&own);
    if (q == &own)
        q->number = 4;
    assert(own.number == 3); // VIOLATED
    return 0;
}

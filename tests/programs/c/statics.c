#include <assert.h>

static int counter(void) {
    static int n = 5;
    return n++;
}
static int *cell(void) {
    static int kept[2] = {1, 2};
    return &kept[1];
}
int later;
int *address = &later;
extern int tentative;
int tentative;
char *text[] = {"one", "two"};
struct { int n; const char *s; int *p; } mixed = {3, "mixed", &tentative};

int main(void) {
    counter();
    assert(counter() == 6); // HOLDS
    *cell() += 5;
    assert(*cell() == 7); // HOLDS
    *address = 4;
    assert(later == 4 && tentative == 0 && text[1][2] == 'o'); // HOLDS
    *mixed.p = mixed.n;
    assert(tentative == 3 && mixed.s[4] == 'd'); // HOLDS
}

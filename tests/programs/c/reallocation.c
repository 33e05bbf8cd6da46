#include <assert.h>
#include <stdlib.h>

int main(void) {
    char *p = malloc(2);
    p[0] = 'a';
    p[1] = 'b';
    p = realloc(p, 4);
    p[3] = 'd';
    assert(p[0] == 'a' && p[1] == 'b' && p[3] == 'd'); // HOLDS
    p = realloc(p, 1);
    assert(*p == 'a'); // HOLDS
    int *q = realloc(NULL, sizeof *q);
    *q = 5;
    assert(*q == 5); // HOLDS
}

// property: no-uninitialised-read
#include <stdlib.h>
#include <string.h>

struct mixed {
    char c;
    int x, y;
};

int main(void) {
    struct mixed a, b, *p = malloc(sizeof *p);
    a.c = 1;
    a.x = 2;
    b = a;
    memcpy(p, &b, sizeof b);
    int sum = p->c + p->x;
    sum += p->y; // VIOLATED
    free(p);
    return sum;
}

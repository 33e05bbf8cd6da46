// property: no-uninitialised-read
#include <stdlib.h>

struct mixed {
    char c;
    int x, y[20];
};

static int second(struct mixed m) { return m.x + m.y[3]; }

int main(void) {
    struct mixed a, b;
    a.x = 2;
    a.y[3] = 4;
    b = a;
    b.c = 1;
    int *zeros = calloc(3, sizeof *zeros), *grown;
    int sum = b.c + second(b) + zeros[2];
    zeros[1] = 7;
    grown = realloc(zeros, 5 * sizeof *grown);
    sum += grown[1] + grown[2];
    grown[4] = sum;
    sum += grown[4];
    free(grown);
    return sum; // HOLDS
}

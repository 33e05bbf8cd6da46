#include <assert.h>
#include <stdio.h>

int main(void) {
    float f = 1;
    double d = 2;
    if (scanf("%f %lf", &f, &d) != 2) return 0;
    assert(f == f || f != f); // HOLDS
    assert(d != 0.5); // VIOLATED
}

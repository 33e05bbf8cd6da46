/* VIOLATED: the index may be one that the assertion forgets. */
#include <assert.h>
extern unsigned __VERIFIER_nondet_uint(void);
struct pair { int first; unsigned char second; };
struct pair table[3];

int main(void) {
    unsigned i = __VERIFIER_nondet_uint();
    if (i >= 3) return 0;
    for (unsigned k = 0; k < 3; k++) {
        table[k].first = 10;
        table[k].second = 1;
    }
    table[i].first = 7;
    table[i].second = 255;
    table[i].second++;
    assert(table[0].first + table[1].first + table[2].first == 27 && table[0].first == 10);
    assert(table[i].second == 0);
}

// decided-by: bmc kind
#include <assert.h>
struct page { char bytes[8192]; } pages[3];
extern unsigned __VERIFIER_nondet_uint(void);
int main(void) {
    char letters[10], *p = letters;
    unsigned n = __VERIFIER_nondet_uint(), m = __VERIFIER_nondet_uint();
    struct page *last = pages + 2;
    while (last >= pages)
        last--;
    assert(last != 0); // HOLDS
    if (n > 4200 && n < 65536 && m < 65536 && n * 41 + m * 1013 == 5000000)
        assert(p - n >= p); // VIOLATED
}

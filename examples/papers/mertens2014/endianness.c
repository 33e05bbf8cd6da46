/* HOLDS: the bytes of a word, the lowest first. */
#include <assert.h>
extern unsigned __VERIFIER_nondet_uint(void);

int main(void) {
    unsigned word = __VERIFIER_nondet_uint();
    unsigned char *bytes = (unsigned char *)&word;
    unsigned again = bytes[0] + 256u * bytes[1] + 65536u * bytes[2] + 16777216u * bytes[3];
    assert(again == word);
}

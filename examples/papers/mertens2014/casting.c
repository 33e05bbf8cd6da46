/* HOLDS: conversions cut off high bits and extend signs. */
#include <assert.h>
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int x = __VERIFIER_nondet_int();
    unsigned char low = (unsigned char)x;
    signed char sign = (signed char)x;
    unsigned short half = (unsigned short)sign;
    assert(low < 256 && ((int)sign == (int)low || (int)sign + 256 == (int)low));
    assert((unsigned char)half == low);
}

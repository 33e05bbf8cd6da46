// property: valid-memsafety
#include <stdio.h>
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int n = __VERIFIER_nondet_int();
    char text[12], digits[4];
    sprintf(text, "%d", n); // HOLDS
    if (n >= -99 && n <= 999) sprintf(digits, "%i", n); // HOLDS
}

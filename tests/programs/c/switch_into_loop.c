// decided-by: bmc kind
#include <assert.h>

int main(void) {
    char from[7] = "abcdef", to[7];
    char *p = from, *q = to;
    int n = 7, rounds = (n + 3) / 4;
    switch (n % 4) {
    case 0:
        do {
            *q++ = *p++;
    case 3:
            *q++ = *p++;
    case 2:
            *q++ = *p++;
    case 1:
            *q++ = *p++;
        } while (--rounds > 0);
    }
    assert(to[0] == 'a' && to[5] == 'f' && to[6] == 0); // HOLDS
    assert(q - to == 7); // HOLDS
}

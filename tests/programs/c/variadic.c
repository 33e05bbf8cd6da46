#include <assert.h>
#include <stdarg.h>

extern int __VERIFIER_nondet_int(void);

static int largest(int count, ...) {
    va_list list;
    va_start(list, count);
    int found = va_arg(list, int);
    while (--count > 0) {
        int next = va_arg(list, int);
        found = next > found ? next : found;
    }
    va_end(list);
    return found;
}

static void set(int value, ...) {
    va_list list;
    int *to;
    va_start(list, value);
    while ((to = va_arg(list, int *)))
        *to = value;
    va_end(list);
}

int main(void) {
    int a = __VERIFIER_nondet_int(), b = __VERIFIER_nondet_int(), c = 3;
    int most = largest(3, a, b, c);
    assert(most >= a && most >= b && most >= 3); // HOLDS
    set(7, &a, &c, (int *)0);
    assert(a == 7 && c == 7); // HOLDS
    return 0;
}

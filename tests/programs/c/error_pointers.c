#include <assert.h>

#define ERROR_POINTER(code) ((void *)(long)(code))
extern int __VERIFIER_nondet_int(void);

static int object;

static void act(void) {
}

static void *find(int *p, int wanted) {
    if (wanted < 0)
        return ERROR_POINTER(wanted);
    return p;
}

int main(void) {
    int wanted = __VERIFIER_nondet_int();
    int *found = find(&object, wanted);
    void (*handler)(void) = act;
    assert((unsigned long)handler < (unsigned long)-4095); // HOLDS
    if ((unsigned long)found < (unsigned long)-4095)
        assert(wanted >= 0 || wanted < -4095); // HOLDS
    else
        assert(found != &object && (long)found == wanted); // HOLDS
    if (wanted >= 0)
        *found = 5;
    assert(wanted < 0 || object == 5); // HOLDS
    return 0;
}

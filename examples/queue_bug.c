/* VIOLATED: a full queue takes one number more. */
#include <assert.h>

extern int __VERIFIER_nondet_int(void);

#define SIZE 3

static int ring[SIZE];
static unsigned first, count;

static void put(int number) {
    if (count > SIZE)
        return;
    ring[(first + count) % SIZE] = number;
    count++;
}

static int take(void) {
    if (count == 0)
        return 0;
    int number = ring[first];
    first = (first + 1) % SIZE;
    count--;
    return number;
}

int main(void) {
    int sum = 0;
    while (1) {
        if (__VERIFIER_nondet_int())
            put(sum);
        else
            sum += take();
        assert(count <= SIZE && first < SIZE);
    }
}

// property: valid-memsafety
// decided-by: kind
extern int __VERIFIER_nondet_int(void);
static void fill(int *cells, unsigned at, int *last) {
    cells[at % 8] = 1;
    *last = cells[at % 8]; // HOLDS
}
int main(void) {
    unsigned rounds = 0;
    while (__VERIFIER_nondet_int()) {
        int cells[8], last; // in every round a new object, and the address of no older one is read
        fill(cells, rounds++, &last);
    }
    return 0;
}

// property: valid-deref
// decided-by: bmc
extern int __VERIFIER_nondet_int(void);
static void keep(int **kept, int *local) { *kept = local; }
int main(void) {
    int *last = 0;
    while (__VERIFIER_nondet_int()) {
        int local = 1;
        if (last)
            *last = 2; // VIOLATED
        keep(&last, &local);
    }
    return 0;
}

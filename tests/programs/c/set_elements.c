// property: no-uninitialised-read
// decided-by: bmc
int __VERIFIER_nondet_int(void);

int main(void) {
    int a[4], last;
    for (int i = 0; i < 4; i++) {
        a[i] = i;
        last = i;
    }
    unsigned k = __VERIFIER_nondet_int();
    return k < 4 ? a[k] + last : last; // HOLDS
}

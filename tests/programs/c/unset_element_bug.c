// property: no-uninitialised-read
// decided-by: bmc
int __VERIFIER_nondet_int(void);

int main(void) {
    int a[4];
    for (int i = 0; i < 4; i++)
        if (i != 2)
            a[i] = i;
    unsigned k = __VERIFIER_nondet_int();
    return k < 4 ? a[k] : 0; // VIOLATED
}

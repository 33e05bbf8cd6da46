// property: no-uninitialised-read
// inputs: 1
int __VERIFIER_nondet_int(void);

int main(void) {
    int x, unused, c = __VERIFIER_nondet_int();
    if (c)
        x = 1;
    (void)unused;
    return c && x ? x : 0; // HOLDS
}

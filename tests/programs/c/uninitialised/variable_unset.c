// property: no-uninitialised-read
// inputs: 0
int __VERIFIER_nondet_int(void);

int main(void) {
    int x;
    if (__VERIFIER_nondet_int())
        x = 1;
    return x; // VIOLATED
}

// property: no-overflow
// decided-by: bmc
extern int __VERIFIER_nondet_int(void);

int main(void) {
    _Atomic int counter = __VERIFIER_nondet_int();
    counter++; // VIOLATED
    return 0;
}

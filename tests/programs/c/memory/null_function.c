// property: valid-memsafety
// subproperty: valid-deref
// inputs: 0
extern int __VERIFIER_nondet_int(void);
int (*function)(void);

int one(void) {
    return 1;
}

int main(void) {
    if (__VERIFIER_nondet_int()) function = one;
    return function(); // VIOLATED
}

// property: valid-memsafety
// subproperty: valid-deref
int __VERIFIER_nondet_int(void);

static int *p;

static void keep(int nothing) {
    if (nothing) goto end;
    int x;
    x = 2;
    p = &x;
end:
    return;
}

int main(void) {
    keep(__VERIFIER_nondet_int());
    if (p) *p = 1; // VIOLATED
    return 0;
}

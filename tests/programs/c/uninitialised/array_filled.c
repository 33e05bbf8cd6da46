// property: no-uninitialised-read
int __VERIFIER_nondet_int(void);

int main(void) {
    int a[5];
    for (int i = 0; i < 5; i++)
        a[i] = i;
    unsigned k = __VERIFIER_nondet_int();
    return k < 5 ? a[k] : 0; // HOLDS
}

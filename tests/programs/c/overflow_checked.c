// decided-by: bmc kind predicate clp spacer
// property: no-overflow
extern int __VERIFIER_nondet_int(void);
extern unsigned __VERIFIER_nondet_uint(void);

int main(void) {
    int x = __VERIFIER_nondet_int();
    unsigned u = __VERIFIER_nondet_uint() + 1; // HOLDS
    short s = x;
    s++;
    if (x > 100 || x < -100) return 0;
    x = x * x + s; // HOLDS
    x = -x - 1; // HOLDS
    long wide = (long)x + 2147483647; // HOLDS
    int d = x / -1; // HOLDS
    x = 1 << 30; // HOLDS
    return (int)(u + wide + d);
}

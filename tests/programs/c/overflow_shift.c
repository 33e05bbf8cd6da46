// property: no-overflow
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int x = __VERIFIER_nondet_int();
    if (x < 0 || x > 31) return 0;
    unsigned u = 1u << x; // HOLDS
    return (int)u + (1 << x); // VIOLATED
}

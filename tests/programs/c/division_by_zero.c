// property: no-div-zero
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int x = __VERIFIER_nondet_int();
    if (x != 0 && 10 / x > 3) return 1; // HOLDS
    int y = x ? 10 % x : 0; // HOLDS
    return 100 / (y - 1); // VIOLATED
}

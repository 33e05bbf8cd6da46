// property: no-overflow
// decided-by: bmc
extern int __VERIFIER_nondet_int(void);

__attribute__((no_sanitize("undefined"))) static int next(int x) {
    return x + 1; // VIOLATED
}

int main(void) { return next(__VERIFIER_nondet_int()); }

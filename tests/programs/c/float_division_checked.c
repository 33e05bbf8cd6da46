// property: float-divide-by-zero
// decided-by: kind
float __VERIFIER_nondet_float(void);
int __VERIFIER_nondet_int(void);

int main(void) {
    float x = __VERIFIER_nondet_float();
    while (__VERIFIER_nondet_int()) {
        if (x != 0.0f) {
            x = 1.0f / x; // HOLDS
        } else {
            x = __VERIFIER_nondet_float();
        }
    }
}

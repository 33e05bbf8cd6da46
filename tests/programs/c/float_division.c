// property: float-divide-by-zero
// decided-by: bmc
float __VERIFIER_nondet_float(void);

int main(void) {
    float x = __VERIFIER_nondet_float();
    float y = x - 1.0f;
    if (x > 1.0f) {
        float z = 1.0f / y; // HOLDS
        return z > 0.0f;
    }
    return 1.0f / (x * 0.5f) > 1.0f; // VIOLATED
}

// property: float-cast-overflow
// decided-by: bmc
double __VERIFIER_nondet_double(void);

int main(void) {
    double x = __VERIFIER_nondet_double();
    if (x > -2147483649.0 && x < 2147483648.0) {
        int whole = (int)x; // HOLDS
        return whole > 7;
    }
    return (unsigned char)x; // VIOLATED
}

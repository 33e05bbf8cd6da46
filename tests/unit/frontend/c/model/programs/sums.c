// property: no-overflow
extern int __VERIFIER_nondet_int(void);
int main(void) {
    int x = __VERIFIER_nondet_int(), sum = 0;
    for (int i = 0; i < 2; i++)
        sum += x;
    return -sum;
}

/* HOLDS: the Linear Program of this program holds: whatever the bytes and the products are. */
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);

unsigned char byte[64];

int main(void) {
    int n = __VERIFIER_nondet_int(), sum = 0;
    if (n < 0 || n > 64)
        return 0;
    for (int i = 0; i < n; i++) {
        byte[i] = i * n;
        sum = sum + byte[i];
    }
    if (sum < 0)
        reach_error();
}

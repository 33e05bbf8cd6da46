// property: valid-memsafety
// decided-by: arrays
extern int __VERIFIER_nondet_int(void);

// Look for the last number of an array, which is in it: at its end if nowhere else.
int main(void) {
    int n = __VERIFIER_nondet_int();
    if (n < 1 || n > 100000) n = 1;
    int numbers[n];
    for (int i = 0; i < n; i++)
        numbers[i] = __VERIFIER_nondet_int();
    int *p = numbers;
    while (*p != numbers[n - 1]) {
        *p = 0;
        p++;
    }
    return 0; // HOLDS
}

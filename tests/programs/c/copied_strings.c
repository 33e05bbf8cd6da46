// property: valid-memsafety
// decided-by: arrays
extern int __VERIFIER_nondet_int(void);

// Copy a string, but no more than n bytes.
static void copy(char *to, const char *from, int n) {
    while (n > 0 && (*to++ = *from++))
        n--;
}

int main(void) {
    int length = __VERIFIER_nondet_int(), n = __VERIFIER_nondet_int();
    if (length < 1) length = 1;
    if (n < 1) n = 1;
    char to[n], from[length];
    from[length - 1] = 0;
    copy(to, from, n);
    return 0; // HOLDS
}

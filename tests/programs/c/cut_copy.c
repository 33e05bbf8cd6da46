// property: valid-memsafety
// decided-by: arrays
extern int __VERIFIER_nondet_int(void);

// Copy at most n - 1 characters, end the copy, and return how many there were.
static int copy(char *to, const char *from, unsigned n) {
    const char *p = from;
    unsigned left = n;
    if (left != 0)
        while (--left != 0)
            if ((*to++ = *p++) == 0) break;
    if (left == 0) {
        if (n != 0) *to = 0;
        while (*p++) {}
    }
    return p - from - 1;
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

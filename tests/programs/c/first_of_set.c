// property: valid-memsafety
// decided-by: arrays
extern int __VERIFIER_nondet_int(void);

// Return the length of the part of s before a character that is not in the string set.
static int span(const char *s, const char *set) {
    const char *p = s;
    for (; *p != 0; p++) {
        char wanted = *p;
        const char *q = set;
        while (*q != 0 && *q != wanted)
            q++;
        if (*q != wanted) break;
    }
    return p - s;
}

int main(void) {
    int m = __VERIFIER_nondet_int(), n = __VERIFIER_nondet_int();
    if (m < 1) m = 1;
    if (n < 1) n = 1;
    char s[m], set[n];
    s[m - 1] = 0;
    set[n - 1] = 0;
    return span(s, set); // HOLDS
}

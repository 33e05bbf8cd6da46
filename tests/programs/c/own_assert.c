extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
extern void __assert_func(const char *, int, const char *, const char *);

static void __assert(int condition) {
    if (!condition)
        reach_error(); // VIOLATED
}

int main(void) {
    int x = __VERIFIER_nondet_int();
    __assert(x != 3);
    if (x == 3)
        reach_error(); // HOLDS
    if (x == 4)
        __assert_func("own_assert.c", 15, "main", "x != 4"); // VIOLATED
    return 0;
}

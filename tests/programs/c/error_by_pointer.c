extern int __VERIFIER_nondet_int(void);

void reach_error(void) {} // VIOLATED

int main(void) {
    int (*input)(void) = __VERIFIER_nondet_int;
    void (*end)(void) = reach_error;
    if (input() == 17) end();
}

extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_error(void) __attribute__((noreturn));
int reached;
void reach_error(void) { reached = 1; }

int main(void) {
    if (__VERIFIER_nondet_int() == 3)
        reach_error(); // VIOLATED
    if (reached) __VERIFIER_error(); // HOLDS
}

// property: valid-memsafety
// decided-by: search
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int from[5000], to[5000];
    for (int i = 0; i < 5000; i++)
        from[i] = __VERIFIER_nondet_int();
    for (int i = 0; from[i] != 0; i++) // VIOLATED
        to[i] = from[i];
}

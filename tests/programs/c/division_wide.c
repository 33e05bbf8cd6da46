// property: no-div-zero
// decided-by: bmc
extern int __VERIFIER_nondet_int(void);

int main(void) {
    __int128 x = 7;
    x /= __VERIFIER_nondet_int(); // VIOLATED
    return 0;
}

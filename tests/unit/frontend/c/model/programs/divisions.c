// property: no-div-zero
extern int __VERIFIER_nondet_int(void);
int main(void) {
    int x = __VERIFIER_nondet_int();
    int a[2] = {x, 2};
    int y = x ? 10 % x : a[1] / 2;
    return a[1] / (a[0] - 1) + y;
}

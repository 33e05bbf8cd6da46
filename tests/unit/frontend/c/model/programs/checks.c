// property: no-overflow
extern int __VERIFIER_nondet_int(void);

int main(void) {
    int x = __VERIFIER_nondet_int(), y = 7;
    int both = x > 0 && x - 1 < y;
    int least = x > y ? x - y : y - x;
    if ((x + 1 > 0 || y * 2 > 3) && both)
        y = both && x << 1 > 2 ? y + 1 : -x;
    while (y - least > 0 && (x < 0 ? -x : x) < 9)
        y--;
    for (int i = 0; i + 1 < 3 || least + i < 2; i++)
        x += x;
    return (x * 1000 + 5 > 0) + (x + 2147483640 > 3 || y);
}

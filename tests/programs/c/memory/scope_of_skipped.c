// property: valid-memsafety
static int get(const int *p) { return *p; }

int main(void) {
    int *p = 0, sum = 0;
    for (int round = 0; round < 4; round++) {
        switch (round) {
            int x;
        case 0:
            x = 1;
            p = &x;
            // fall through
        case 1:
            p = &x;
            *p = round; // HOLDS
            sum += get(&x); // HOLDS
            break;
        default:;
            int a[2];
            a[1] = 2;
            if (round == 3) goto again;
        again:
            sum += a[1] + get(&(int){sum}); // HOLDS
        }
        if (sum > 100) sum = get(&(int){3}); // HOLDS
    }
    goto inside;
    {
        int y;
    inside:
        p = &y;
        *p = 4; // HOLDS
    }
    return sum;
}

// property: no-uninitialised-read
int main(void) {
    int sum = 0;
    for (int round = 0; round < 2; round++) {
        switch (round) {
        case 0:;
            int a[2];
            a[0] = 1;
            break;
        default:
            sum += a[0]; // VIOLATED
        }
    }
    return sum;
}

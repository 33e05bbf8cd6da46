// property: no-uninitialised-read
int main(void) {
    int sum = 0;
    for (int round = 0; round < 2; round++) {
        switch (round) {
        case 0:;
            int x = 5;
            sum += x; // HOLDS
            break;
        case 1:
            sum += x; // VIOLATED
        }
    }
    return sum;
}

// property: no-uninitialised-read
int main(void) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        int x;
        if (i == 0)
            x = 5;
        sum += x; // VIOLATED
    }
    return sum;
}

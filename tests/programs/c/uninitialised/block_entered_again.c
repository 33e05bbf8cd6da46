// property: no-uninitialised-read
int main(void) {
    int round = 0, sum = 0;
    {
        int x;
        x = 1;
    inside:
        sum += x; // VIOLATED
    }
    if (round++ < 2)
        goto inside;
    return sum;
}

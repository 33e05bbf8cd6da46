// property: no-uninitialised-read
static void give(int *to, int number) {
    if (number)
        *to = number;
}

int main(void) {
    int x, y;
    give(&x, 3);
    give(&y, 0);
    x++;
    return y; // VIOLATED
}

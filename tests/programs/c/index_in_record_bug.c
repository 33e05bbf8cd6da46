// property: array-bounds
struct pair {
    int a[4], b[4];
};

int main(void) {
    struct pair p = {{0}, {0}};
    int i = 6;
    p.b[2] = 1;
    return p.a[i]; // VIOLATED
}

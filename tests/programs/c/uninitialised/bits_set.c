// property: no-uninitialised-read
struct fields {
    unsigned a : 4, b : 4, c : 20;
};

int main(void) {
    struct fields f, g;
    f.a = 5;
    f.c = 6;
    g = f;
    g.b = g.a + g.c;
    return g.b; // HOLDS
}

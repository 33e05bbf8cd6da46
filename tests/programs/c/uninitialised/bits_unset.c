// property: no-uninitialised-read
struct fields {
    unsigned a : 4, b : 4, c : 20;
};

int main(void) {
    struct fields f;
    f.a = 5;
    f.c = 6;
    return f.a + f.b; // VIOLATED
}

// property: valid-memsafety
struct s {
    int a, f[2];
};

int main(void) {
    struct s *p = 0, t;
    int *q = &p->f[1];
    int *end = &t.f[2];
    t.f[1] = q == 0; // HOLDS
    return end[-1]; // HOLDS
}

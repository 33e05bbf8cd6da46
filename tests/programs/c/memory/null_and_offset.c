// property: valid-memsafety
// subproperty: valid-deref
struct s {
    int a, f;
};

int main(void) {
    struct s *p = 0;
    int *q = &p->f;
    return *q; // VIOLATED
}

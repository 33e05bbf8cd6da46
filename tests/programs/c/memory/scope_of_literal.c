// property: valid-memsafety
// subproperty: valid-deref
struct pair { int a, b; };

static int sum(const struct pair *p) {
    return p->a + p->b; // VIOLATED
}

int main(void) {
    const struct pair *p = &(struct pair){1, 2};
    if (sum(p) == 3) p = &(struct pair){sum(p), 4};
    return sum(p);
}

// property: valid-memsafety
// subproperty: valid-deref
static int *local(void) {
    int x = 1;
    int *p = &x;
    return p;
}

int main(void) {
    int *p = local();
    return *p; // VIOLATED
}

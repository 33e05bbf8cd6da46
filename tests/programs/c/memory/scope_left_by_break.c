// property: valid-memsafety
// subproperty: valid-deref
int main(void) {
    int *p = 0;
    while (1) {
        int y = 3;
        p = &y;
        if (y) break;
        p = 0;
    }
    return *p; // VIOLATED
}

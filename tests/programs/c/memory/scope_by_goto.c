// property: valid-memsafety
// subproperty: valid-deref
int main(void) {
    int *p = 0;
again:
    if (p) return *p; // VIOLATED
    {
        int y = 3;
        p = &y;
        goto again;
    }
}

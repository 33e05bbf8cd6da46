// property: valid-memsafety
// subproperty: valid-deref
int main(void) {
    int *p = 0, n = 3;
    {
        int a[n];
        a[0] = 1;
        p = a;
    }
    return *p; // VIOLATED
}

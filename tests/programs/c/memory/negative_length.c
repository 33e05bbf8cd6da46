// property: valid-memsafety
// subproperty: valid-deref
int main(void) {
    int n = -3;
    int a[n]; // VIOLATED
    a[0] = 1;
    return a[0];
}

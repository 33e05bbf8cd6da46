// property: valid-memsafety
// subproperty: valid-deref
int main(void) {
    int a[4] = {0}, b[4] = {0};
    int i = 4;
    a[i] = 1; // VIOLATED
    return b[0];
}

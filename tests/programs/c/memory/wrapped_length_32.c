// property: valid-memsafety
// subproperty: valid-deref
// data-model: ILP32
int main(void) {
    unsigned n = 0x40000001;
    int a[n]; // VIOLATED
    a[2] = 1;
}

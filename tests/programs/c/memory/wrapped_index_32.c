// property: valid-memsafety
// subproperty: valid-deref
// data-model: ILP32
int main(void) {
    int p[4];
    unsigned i = 0x40000000;
    p[i] = 1; // VIOLATED
    return p[0];
}

// property: valid-memsafety
// subproperty: valid-deref
static char none[0];

int main(void) {
    none[0] = 1; // VIOLATED
    return 0;
}

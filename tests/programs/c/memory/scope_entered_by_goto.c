// property: valid-memsafety
// subproperty: valid-deref
int main(void) {
    int *p = 0;
    goto inside;
    {
        int y;
    inside:
        p = &y;
        *p = 4; // HOLDS
    }
    return *p; // VIOLATED
}

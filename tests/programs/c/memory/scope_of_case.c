// property: valid-memsafety
// subproperty: valid-deref
int main(void) {
    int *p = 0;
    for (int i = 0; i < 2; i++) {
        switch (i) {
        case 0:;
            int a[2] = {7, 8};
            p = a;
            break;
        case 1:
            return *p; // VIOLATED
        }
    }
}

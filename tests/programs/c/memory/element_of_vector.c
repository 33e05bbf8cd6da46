// property: valid-memsafety
// subproperty: valid-deref
typedef int vector __attribute__((vector_size(16)));
int __VERIFIER_nondet_int(void);

int main(void) {
    vector v = {1, 2, 3, 4};
    int i = __VERIFIER_nondet_int() + 4;
    return v[i]; // VIOLATED
}

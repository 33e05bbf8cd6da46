// property: valid-memsafety
// subproperty: valid-deref
int main(void) {
    char *s = "abc";
    s[0] = 'x'; // VIOLATED
}

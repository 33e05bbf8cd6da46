// property: valid-memsafety
// subproperty: valid-deref
#include <stdio.h>

int main(void) {
    int n = -1000000000;
    char text[11];
    sprintf(text, "%d", n); // VIOLATED
}

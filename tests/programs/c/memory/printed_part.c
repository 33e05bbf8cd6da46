// property: valid-memsafety
#include <stdio.h>

int main(void) {
    char s[2] = {'a', 'b'};
    printf("%.2s %.*s %d %s", s, 2, s, 3, "x"); // HOLDS
    puts("y");
}

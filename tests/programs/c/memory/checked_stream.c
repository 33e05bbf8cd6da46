// property: valid-memsafety
#include <stdio.h>

int main(void) {
    FILE *file = fopen("data", "r");
    if (!file) return 1;
    int c = fgetc(file); // HOLDS
    fputc(c, stdout); // HOLDS
    fflush(0);
    return fclose(file); // HOLDS
}

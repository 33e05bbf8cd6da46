// property: no-uninitialised-read
#include <string.h>

static char shared[9];

int main(void) {
    char text[8];
    strcpy(text, "ab");
    memcpy(shared, text, 8);
    return strlen(text) + strcmp(shared, text); // HOLDS
}

// property: no-uninitialised-read
#include <string.h>

int main(void) {
    char text[8];
    text[0] = 'a';
    text[1] = 'b';
    return strlen(text); // VIOLATED
}

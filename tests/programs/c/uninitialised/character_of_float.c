// property: no-uninitialised-read
#include <string.h>

union word {
    float f;
    unsigned char b[4];
};

int main(void) {
    union word u;
    u.f = 1.5f;
    return u.b[3] + u.b[0]; // HOLDS
}

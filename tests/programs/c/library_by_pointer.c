#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char *copier(char *, const char *);

extern int outside(unsigned, unsigned);

int main(void) {
    copier *copy = strcpy, *append = strcat;
    int (*compare)(const char *, const char *, size_t) = strncmp;
    size_t (*length)(const char *, const char *) = strcspn;
    char text[16];
    copy(text, "xyz");
    assert(text[0] == 'x' && text[2] == 'z' && text[3] == 0); // HOLDS
    append(text, "uv");
    assert(text[3] == 'u' && text[4] == 'v' && text[5] == 0); // HOLDS
    assert(compare(text, "xya", 2) == 0 && compare(text, "xya", 3) > 0); // HOLDS
    assert(length(text, "uz") == 2); // HOLDS
    int (*asked)(unsigned, unsigned) = outside;
    int value = 3, *place = &value;
    asked(1, 2);
    for (unsigned i = 0; i < 3; i++) *place += 1;
    assert(value == 6); // HOLDS
    return 0;
}

#include <assert.h>
#include <ctype.h>
#include <string.h>

int main(void) {
    char buffer[16] = "abc";
    assert(strlen(buffer) == 3 && strlen("four") == 4); // HOLDS
    strcat(buffer, "de");
    assert(strcmp(buffer, "abcde") == 0 && strcmp("abd", buffer) > 0); // HOLDS
    assert(strncmp("abX", buffer, 2) == 0 && strchr(buffer, 'c') == buffer + 2); // HOLDS
    assert(strchr(buffer, 'z') == NULL && *strrchr("a.b.c", '.') == '.'); // HOLDS
    char copy[4] = {0};
    strncpy(copy, buffer, 3);
    copy[3] = 0;
    assert(memcmp(copy, "abc", 4) == 0); // HOLDS
    memmove(buffer + 1, buffer, 5);
    assert(buffer[0] == 'a' && buffer[1] == 'a' && buffer[5] == 'e'); // HOLDS
    assert(isdigit('7') && !isalpha('7') && toupper('q') == 'Q'); // HOLDS
}

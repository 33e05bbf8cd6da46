#include <assert.h>
#include <string.h>
static const char *const words[] = {"one", "three"};
int main(void) {
    char buffer[8] = "ab";
    strcat(buffer, words[0]);
    size_t length = strlen(buffer);
    assert(strcmp(buffer, "abone") == 0);
    assert(length != 5);
    return 0;
}

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

int main(void) {
    char text[4] = "12x", *end = NULL;
    int other = 5;
    long n = strtol(text, &end, 10);
    assert(text[2] == 'x' && (n != n || end == end)); // HOLDS
    struct tm calendar = {0};
    time_t seconds = mktime(&calendar);
    (void)seconds;
    char *name = getenv("HOME");
    if (name != NULL) {
        char before = name[0];
        text[0] = 'y';
        assert(name[0] == before); // HOLDS
    }
    errno = 0;
    assert(other == 5 && text[2] == 'x'); // HOLDS
    return 0;
}

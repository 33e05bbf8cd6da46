#include <assert.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char line[4] = {1, 1, 1, 0}, bytes[2] = {7, 7};
    if (fgets(line, sizeof line, stdin) != NULL) {
        int end = 0;
        while (line[end] != 0 && end < 4)
            end++;
        assert(end <= 3 && line[3] == 0); // HOLDS
        if (end > 1)
            assert(line[0] != '\n'); // HOLDS
    }
    long n = read(0, bytes, 2);
    assert(n <= 2 && (n == 2 || bytes[1] == 7)); // HOLDS
    return 0;
}

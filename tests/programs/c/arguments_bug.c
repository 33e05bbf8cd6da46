#include <assert.h>

int main(int argc, char **argv) {
    if (argc != 1)
        return 0;
    assert(argv[0] && !argv[1]); // HOLDS
    assert(argv[0][0] != 'x'); // VIOLATED
    return 0;
}

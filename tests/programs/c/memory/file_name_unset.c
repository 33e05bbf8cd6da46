// property: valid-memsafety
// subproperty: valid-deref
#include <fcntl.h>
int main(void)
{
    char *name;
    return openat(0, name, 0) < 0; // VIOLATED
}

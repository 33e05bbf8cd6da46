/* Functions of <time.h> that compute. */

#include "certus.h"

/* The difference as a mathematical integer, rounded once. */
double difftime(long a, long b)
{
    unsigned long more = a, less = b;
    return a < b ? -(double)(less - more) : (double)(more - less);
}

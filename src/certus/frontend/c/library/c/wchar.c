/* Wide strings: <wchar.h>, in the locale "C". Wide characters are compared as the signed integers that they are. */

#include "certus.h"

#define CHARACTER wchar_t
#define SEARCHED wchar_t
#define CODE(c) (c)
#define NAME(part) wcs##part
#include "text.h"

wchar_t *wmemcpy(wchar_t *to, const wchar_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = from[i];
    return to;
}

wchar_t *wmemmove(wchar_t *to, const wchar_t *from, size_t count)
{
    if (to <= from) for (size_t i = 0; i < count; i++) to[i] = from[i];
    else for (size_t i = count; i > 0; i--) to[i - 1] = from[i - 1];
    return to;
}

wchar_t *wmemset(wchar_t *to, wchar_t value, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] = value;
    return to;
}

int wmemcmp(const wchar_t *a, const wchar_t *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i]) return difference(a[i], b[i]);
    return 0;
}

wchar_t *wmemchr(const wchar_t *s, wchar_t wanted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (s[i] == wanted) return (wchar_t *)(s + i);
    return 0;
}
